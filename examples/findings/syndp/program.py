"""syndp 0.5.2: not available, see the page."""

from finding import Library

LIBRARY = Library("syndp", "0.5.2", ("syndp==0.5.2",), "syndp", apart=True)
