"""The ledger: which release spent how much of whose budget, durable before the noise is drawn."""

from dpnb_columnar.ledger.accounts import Ledger
from dpnb_columnar.ledger.records import Charge, Entry, Run

__all__ = ["Charge", "Entry", "Ledger", "Run"]
