"""What a run measures beside its accuracy, held against the exact mechanisms."""
