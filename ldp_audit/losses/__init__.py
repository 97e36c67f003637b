"""Privacy losses of ordered pairs of distributions: exact ones, bounds on others, their sums and samples."""
