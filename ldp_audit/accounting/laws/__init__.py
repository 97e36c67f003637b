"""Exact distributions of small finite experiments."""
