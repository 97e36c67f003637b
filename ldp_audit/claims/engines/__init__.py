"""The engines, each sure of what it says; `settling.py`, a floor above, asks them in order of cost."""
