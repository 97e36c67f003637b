"""tensorflow-privacy 0.9.0: not available, see the page."""

from finding import Library

LIBRARY = Library("tensorflow-privacy", "0.9.0", ("tensorflow-privacy==0.9.0",), "tensorflow_privacy", apart=True)
