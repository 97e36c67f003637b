"""Is this program what they claim? The auditors come with their issues."""
