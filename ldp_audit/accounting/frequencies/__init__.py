"""Many losses of finitely many values, added up by integrals over frequencies."""
