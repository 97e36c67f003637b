"""Shuffled reports and one client: exact distributions, bounds by clones, published theorems."""
