"""Shuffled reports and one client: exact distributions, bounds by what all reports have in common."""
