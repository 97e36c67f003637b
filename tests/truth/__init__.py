"""An independent check of every certified bound of the accounting: `python -m tests.truth`."""
