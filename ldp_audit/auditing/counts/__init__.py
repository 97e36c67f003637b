"""Counting one event on two inputs: on processes and clusters, resumable, added up over machines."""
