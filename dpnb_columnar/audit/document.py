"""An audit as a document, for archives and for other programs.

Version 1 holds::

    {"format": "dpnb_columnar audit", "version": 1, "software": {name: version},
     "confidence": probability that every bound holds together,
     "holds": whether every check passed,
     "findings": [finding of the way from rows to statistics, ...],
     "configurations": [{"mechanism", "noise": name or null, "neighbours",
                         "epsilon", "delta": exact text, as claimed,
                         "exhaustive_loss", "number_bound", "model_bound": epsilon, as measured; null where infinite,
                         "bit_patterns": whether all of them are public,
                         "pairs", "releases": how many were looked at,
                         "findings": [{"check", "pair", "seen"}, ...]}, ...]}

The rows are synthetic, so nothing in it is confidential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dpnb_columnar.audit.bits import CHECKS
from dpnb_columnar.audit.findings import Audit, Finding, Outcome
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.release import software

FORMAT = "dpnb_columnar audit"
VERSION = 1


def to_document(audit: Audit) -> dict[str, Any]:
    """The document of an audit."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "software": software(),
        "confidence": audit.confidence,
        "holds": audit.holds,
        "findings": _plain(audit.findings),
        "configurations": [_configuration(outcome) for outcome in audit.outcomes],
    }


def _configuration(outcome: Outcome) -> dict[str, Any]:
    configuration = outcome.configuration
    return {
        "mechanism": configuration.mechanism,
        "noise": configuration.noise,
        "neighbours": configuration.budget.neighbours.value,
        "epsilon": number_text(outcome.claim.epsilon),
        "delta": number_text(outcome.claim.delta),
        "exhaustive_loss": _number(outcome.loss),
        "number_bound": _number(outcome.number_bound),
        "model_bound": _number(outcome.model_bound),
        "bit_patterns": not outcome.broken(*CHECKS),
        "pairs": outcome.pairs,
        "releases": outcome.releases,
        "findings": _plain(outcome.findings),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [asdict(finding) for finding in findings]
