"""What counts say: curves, bets, power, independent coordinates."""
