"""What an audit finds: broken promises by the name of their check, and per configuration what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.study.audit.configurations import Configuration


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that does not hold.

    Attributes:
        check: Name of the check that found it.
        pair: The neighbours, or other circumstances, it was seen with.
        seen: What was seen.
    """

    check: str
    pair: str
    seen: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a released model promises: epsilon and delta, exact."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured of one configuration.

    Attributes:
        configuration: What was attacked.
        claim: What its models promise.
        loss: Largest epsilon of any pair of neighbours, from exact distributions.
        number_bound: Lower confidence bound on epsilon from single released numbers; 0 where nothing was shown.
        model_bound: Likewise from whole models.
        pairs: Pairs of neighbours whose distributions were compared exactly.
        releases: Models released to count outcomes.
        findings: Promises that do not hold.
    """

    configuration: Configuration
    claim: Claim
    loss: float
    number_bound: float
    model_bound: float
    pairs: int
    releases: int
    findings: tuple[Finding, ...]

    def broken(self, *checks: str) -> bool:
        """Whether one of these checks found something."""
        return any(finding.check in checks for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Audit:
    """What a whole audit has measured.

    Attributes:
        findings: What is broken on the way from rows to statistics.
        outcomes: Per configuration.
        confidence: Probability that all bounds and tests hold together, where the code is correct.
    """

    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    confidence: float

    @property
    def holds(self) -> bool:
        """Whether nothing is broken."""
        return not self.findings and not any(outcome.findings for outcome in self.outcomes)
