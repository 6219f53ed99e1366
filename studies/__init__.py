"""Studies that the program does not need: run from a checkout."""
