"""FedMD-NFDP: model distillation with sampled private data (Sun, Lyu, IJCAI 2021)."""
