"""The toolkit's own statements, settled like any paper's."""
