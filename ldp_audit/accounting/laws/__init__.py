"""Laws of the privacy loss: of single mechanisms, exactly or between two ends."""
