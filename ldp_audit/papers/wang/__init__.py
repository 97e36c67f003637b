"""Wang et al. (ICDE 2019)."""
