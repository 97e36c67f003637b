"""What shuffled reports say about one client: exact laws, bounds by clones, published theorems."""
