"""Conversions between notions of privacy, each labelled exact or one-sided."""
