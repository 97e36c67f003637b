"""FedSel: two-stage reports of gradients (Liu, Cao, Yoshikawa, Chen, DASFAA 2020)."""
