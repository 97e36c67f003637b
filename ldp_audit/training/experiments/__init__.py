"""Runs and sweeps of runs: driven, saved, spread over processes, judged, drawn."""
