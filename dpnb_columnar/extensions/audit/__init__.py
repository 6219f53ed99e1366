"""Attacks on the program's guarantee through its public functions. Synthetic rows only: nothing here is confidential.

Released models are compared with the guarantee that they state: exactly for every pair of neighbours on small domains
(``exhaustive``), by counting releases and bit by bit (``epsilon_bounds``).
"""

VERBS = {"audit": "Try to break the guarantee; lower bounds on epsilon."}
