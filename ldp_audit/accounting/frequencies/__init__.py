"""Very many losses of few values, added up by integrals over frequencies."""
