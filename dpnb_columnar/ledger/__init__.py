"""The ledger: which release spent how much of whose budget, durable before the noise is drawn."""

from dpnb_columnar.domain.names import check_dataset
from dpnb_columnar.ledger.accounts import Ledger
from dpnb_columnar.ledger.records import Account, Charge, Entry, EntryKind, Run, check_run, fresh_run
from dpnb_columnar.ledger.verification import Verified

__all__ = [
    "Account",
    "Charge",
    "Entry",
    "EntryKind",
    "Ledger",
    "Run",
    "Verified",
    "check_dataset",
    "check_run",
    "fresh_run",
]
