"""The pytest plugin: a privacy claim as an assertion with a stated false-alarm rate."""
