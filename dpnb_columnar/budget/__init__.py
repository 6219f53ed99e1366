"""Privacy budgets, their division, and the table that proves the total."""

from dpnb_columnar.budget.amounts import Budget, Neighbours, Weights, parse_epsilon, parse_weights
from dpnb_columnar.budget.composition import Request, Share, compose

__all__ = ["Budget", "Neighbours", "Request", "Share", "Weights", "compose", "parse_epsilon", "parse_weights"]
