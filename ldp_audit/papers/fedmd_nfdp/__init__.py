"""FedMD-NFDP (Sun, Lyu, IJCAI 2021)."""
