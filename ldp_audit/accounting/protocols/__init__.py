"""Protocols as data: the cost of their steps, in every convention, and the papers' settings as TOML files."""
