"""LDP-FL (Sun, Qian, Chen, IJCAI 2021)."""
