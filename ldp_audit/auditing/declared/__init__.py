"""Audits that know the exact law that a program declares."""
