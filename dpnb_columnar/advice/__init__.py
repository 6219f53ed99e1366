"""Advice on the mechanism to choose: a rehearsal on invented rows, a function of domain, budget and public numbers."""
