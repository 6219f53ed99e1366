"""Attacks on the landed code through its public door. Synthetic rows only: nothing here is confidential.

Rows go through the engine, statistics through ``release``, and what comes out is compared with what the model
promises: exactly for every pair of neighbours on small domains (``exact``), by counting releases (``statistical``), and
bit by bit (``bits``).
"""
