"""Privacy budgets, their division, and the table that proves the total."""

from dpnb_columnar.core.budget.amounts import (
    Budget,
    Division,
    Neighbours,
    SharesRule,
    is_rule,
    parse_delta,
    parse_division,
    parse_epsilon,
    parse_rows,
    parse_shares,
)
from dpnb_columnar.core.budget.composition import Parallel, Request, Share, compose, total
from dpnb_columnar.core.budget.costs import (
    Approximate,
    Concentrated,
    PrivacyCost,
    Pure,
    Remaining,
    RowEffect,
    Spent,
    admits,
    remaining,
)

__all__ = [
    "Approximate",
    "Budget",
    "Concentrated",
    "Division",
    "Neighbours",
    "Parallel",
    "PrivacyCost",
    "Pure",
    "Remaining",
    "Request",
    "RowEffect",
    "Share",
    "SharesRule",
    "Spent",
    "admits",
    "compose",
    "is_rule",
    "parse_delta",
    "parse_division",
    "parse_epsilon",
    "parse_rows",
    "parse_shares",
    "remaining",
    "total",
]
