"""Protocols, by their names."""
