"""Files that survive kills, locks, signals, worker processes, and the confinement of what engines would let out."""
