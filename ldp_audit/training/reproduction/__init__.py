"""The papers' experiments at full size: which they are, their records, and what the records say of the papers."""
