"""Checks of the pages that a report is made of: of their text, and in a browser."""
