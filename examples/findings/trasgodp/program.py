"""trasgodp 2.1.0: not available, see the page."""

from finding import Library

LIBRARY = Library("trasgodp", "2.1.0", ("trasgodp==2.1.0",), "trasgodp")
