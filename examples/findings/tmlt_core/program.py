"""tmlt.core 0.20.0: not available, see the page."""

from finding import Library

LIBRARY = Library("tmlt.core", "0.20.0", ("tmlt-core==0.20.0",), "tmlt.core")
