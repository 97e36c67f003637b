"""Documents of results: HTML, Markdown, JSON, figures. Nothing is computed here."""
