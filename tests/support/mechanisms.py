"""Names of the mechanisms, for tests that run each of them, and what sets those with moments apart."""

from __future__ import annotations

from support.mechanisms import MECHANISMS

PRIVATE = [name for name, mechanism in MECHANISMS.items() if mechanism.private]

NEW = ["paper", "trimmed-mean", "global", "global-variance"]
SPREAD = {
    "smooth": "variance",
    "paper": "variance",
    "trimmed-mean": "mean of squares",
    "global": "deviation",
    "global-variance": "variance",
}
NOISE = {
    "smooth": "polyplace",
    "paper": "cauchy",
    "trimmed-mean": "polyplace",
    "global": "laplace",
    "global-variance": "laplace",
}

__all__ = ["MECHANISMS", "NEW", "NOISE", "PRIVATE", "SPREAD"]
