"""Files that survive kills, locks, signals, and what native libraries would leak."""
