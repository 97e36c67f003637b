"""Numbers in a range, and vectors of them, reported unbiased."""
