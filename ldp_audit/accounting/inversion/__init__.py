"""Sums of independent losses by an integral along a line of the complex plane, with certified ends."""
