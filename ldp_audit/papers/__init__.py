"""The papers that ship with the toolkit: a folder each, with all that is its own.

A folder's `entry_points.toml` says what the paper adds to the core (`ldp_audit.registry`): claims, protocols, its own
accounting of them, presets and experiments of its pipeline, a command. Nothing in the core imports a paper: a folder
that is deleted is gone, one that is added is there.
"""
