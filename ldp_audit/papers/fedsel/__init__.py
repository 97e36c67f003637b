"""FedSel (Liu, Cao, Yoshikawa, Chen, DASFAA 2020)."""
