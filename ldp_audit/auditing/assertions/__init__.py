"""Privacy claims as assertions of a test suite."""
