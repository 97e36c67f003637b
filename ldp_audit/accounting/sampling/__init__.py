"""Amplification by sampling: records, groups of records, clients."""
