"""Budgets that are spent step by step: privacy filters, in a file of lines, and in columns for many users."""
