"""Names of the mechanisms, for tests that run each of them."""

from __future__ import annotations

from dpnb_columnar.mechanisms.plan import MECHANISMS

PRIVATE = [name for name, mechanism in MECHANISMS.items() if mechanism.private]

__all__ = ["MECHANISMS", "PRIVATE"]
