"""The example paper's protocols."""
