"""How well the sums of anonymous reports show whose reports are among them."""
