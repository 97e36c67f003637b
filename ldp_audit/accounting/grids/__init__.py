"""Sums of independent losses on a grid by FFT, with certified ends."""
