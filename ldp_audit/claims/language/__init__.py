"""What can be said: statements about variables with domains, and the functions that may occur in them."""
