"""One of finitely many values, reported so that frequencies can be estimated."""
