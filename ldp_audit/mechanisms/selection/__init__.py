"""Which coordinate, or which records, are reported."""
