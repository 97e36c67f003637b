"""LDP-FL: federated averaging of perturbed weights (Sun, Qian, Chen, IJCAI 2021)."""
