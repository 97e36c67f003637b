"""Results in, documents out: HTML, Markdown, JSON, figures. Nothing is computed here."""
