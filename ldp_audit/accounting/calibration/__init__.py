"""The inverse: parameters that just meet a budget."""
