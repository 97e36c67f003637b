"""Protocols as data: what their steps cost, in every convention, and the papers' settings as TOML files."""
