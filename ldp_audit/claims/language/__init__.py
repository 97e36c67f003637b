"""The language of statements: relations over variables with domains, and the functions that may occur in them."""
