"""The engines, each of which proves or refutes statements with evidence; `settling.py` calls them in order of cost."""
