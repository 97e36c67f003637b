"""Noise that is added to a number or a vector."""
