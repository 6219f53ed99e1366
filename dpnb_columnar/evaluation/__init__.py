"""How good a model is: exact figures, and those of released scores."""
