"""The engines, each sure of what it says; `settle.py` asks them in order of cost."""
