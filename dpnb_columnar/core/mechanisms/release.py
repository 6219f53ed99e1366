"""A planned release of a model: what it asks the rows, and what is drawn of each answer.

``release(Statistics, ReleasePlan) -> NaiveBayes`` is the trust boundary, the only code that sees both of its sides.
Where the plan has later passes, ``WeightRounds.after`` and ``release_weights`` add what their sums and counts say: at
once, or, of the counts alone, in a release of their own, given a model that left a share for it.

All noise is drawn under them. Claim: under the budget's neighbouring relation the model is (epsilon,
delta)-differentially private, as the sum of the composition table says. Proof in docs/privacy.md, sections 2 to 6.

*Adaptive questions.* ``ReleasePlan.passes`` is a generator: it yields a question, and whoever carries the plan out
sends back what was released of the answer. No answer enters it, so what is asked next is a function of the plan and of
released values, which adaptive composition needs, and which no line there could get wrong.

*Release given a model.* Statistics that are there already cannot be asked what the tables that are drawn of them give.
So a release from statistics spends nothing on a later pass: its model reserves the share of a calibration, which a
second release spends, given this model (docs/privacy.md, Lemma 2.8).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from dpnb_columnar.core.budget import Budget, Concentrated, Division, PrivacyCost, Share, SharesRule, total
from dpnb_columnar.core.budget.composition import GRADIENT
from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.core.mechanisms.attribute_weights import TEMPERED, attribute_weights, bounded
from dpnb_columnar.core.mechanisms.mechanism import (
    CLASS_COUNTS,
    COUNTS,
    WEIGHTED_COUNTS,
    Mechanism,
    QueryContext,
    noisy_presence,
)
from dpnb_columnar.core.mechanisms.public_weights import PublicWeights
from dpnb_columnar.core.mechanisms.score_calibration import (
    CALIBRATION,
    calibrated_weights,
    margins_given,
)
from dpnb_columnar.core.mechanisms.weight_rounds import start_rounds
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.scores import ScoreCounts
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration_document import digest, weight_document
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.document import document_digest
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes
from dpnb_columnar.version import __version__


@dataclass(frozen=True, slots=True)
class Pass:
    """One question to the rows, and how its answer is released.

    Attributes:
        query: What the rows are asked. Public.
        draw: Takes the exact answer, which is confidential, and the sampler of all noise; returns what is released.
        asking: Name of the stage in which the rows are read.
        drawing: Name of the stage in which noise is drawn.
        values: Number of values that are drawn, for whoever waits; 0 where they are few.
    """

    query: Query[Any]
    draw: Callable[[Any, Sampler], Any]
    asking: str = "counting"
    drawing: str = "releasing"
    values: int = 0


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """A checked release of a model: public facts alone. Only ``core.mechanisms.plan`` makes one.

    Attributes:
        domain: The declared domain.
        budget: Privacy budget, and the relation that it refers to: of whole units where the domain has one.
        mechanism: The mechanism that answers the queries.
        noise: Name of the noise family for smooth sensitivity; None where the mechanism uses none.
        shares: The composition table: every query with its share of the budget, the class counts first.
        attribute_weights: How attributes are weighted in the model's score (``attribute_weights``); None for
            ordinary naive Bayes.
        public: What a public file says about the attributes; None if there is none. The domain is without those that it
            leaves out, unless they decide which rows count.
        reserved: The share that is left for a second release, given the model of this one; None for none.
        given: The model whose reserved share this release spends, on weights alone; None for a release of tables.
        by_size: Whether the part of all attributes is divided by their size (``attribute_shares``).
        automatic: Whether ``auto`` chose these weights.
        uncalibrated: Whether it would have chosen ``calibrated`` if the rows could be read a second time.
        mechanism_reason: Why ``auto`` chose the mechanism (``automatic_choice``); None where it was named.
    """

    domain: Domain
    budget: Budget
    mechanism: Mechanism
    noise: str | None
    shares: tuple[Share, ...]
    attribute_weights: str | None = None
    public: PublicWeights | None = None
    reserved: Share | None = None
    given: NaiveBayes | None = None
    by_size: bool = False
    automatic: bool = False
    uncalibrated: bool = False
    mechanism_reason: str | None = None

    @property
    def total(self) -> PrivacyCost:
        """The sum of the shares: what the release costs."""
        return total(self.shares)

    @property
    def released(self) -> Domain:
        """The domain of the attributes that are released. Others only decide which rows count."""
        return self.domain if self.public is None else self.public.released(self.domain)

    @property
    def calibration(self) -> Share | None:
        """The share of the later pass over the rows, which counts margins given the released tables; None for none."""
        return next((share for share in self.shares if share.query == CALIBRATION), None)

    @property
    def rounds(self) -> tuple[Share, ...]:
        """The shares of the rounds that sum up gradients, each given what the last one released."""
        return tuple(share for share in self.shares if share.query.startswith(GRADIENT))

    def guarantee(self, composition: tuple[Share, ...], *, seeded: bool) -> Guarantee:
        """State what the release promises; nothing where its mechanism is not private."""
        if not self.mechanism.private:
            return Guarantee(self.mechanism.name, self.noise, None, None, None, (), seeded)
        spent = self.total
        return Guarantee(
            mechanism=self.mechanism.name,
            noise=self.noise,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            neighbours=self.budget.neighbours,
            composition=composition,
            seeded=seeded,
            rho=spent.rho if isinstance(spent, Concentrated) else None,
            reserved=self.reserved,
            unit=self.domain.unit,
        )

    @property
    def asks_again(self) -> str | None:
        """The attribute weights for which the rows are asked again, given the tables; None where they are not."""
        return self.attribute_weights if self.given is None and (self.calibration or self.rounds) else None

    def passes(self) -> Generator[Pass, Any, NaiveBayes]:
        """Yield the questions to the rows, each of them made of what was released of the answers before."""
        model: NaiveBayes
        if self.given is None:
            values = sum(share.values for share in self.shares if share not in (self.calibration, *self.rounds))
            model = yield Pass(
                CellQuery(self.domain), lambda statistics, sampler: release(statistics, self, sampler), values=values
            )
        else:
            model = self.given
        if self.rounds:
            weights = start_rounds(model)
            for share in self.rounds:
                weights = yield Pass(
                    weights.query,
                    partial(weights.after, share),
                    asking=f"summing up {share.query}",
                    drawing=f"releasing {share.query}",
                )
            model = replace(model, attribute_weights=weights.weights)
        if self.calibration is not None:
            model = yield Pass(
                margins_given(model),
                partial(release_weights, self, model),
                asking="counting margins",
                drawing="releasing weights",
            )
        return model

    @property
    def run_id(self) -> str | None:
        """The run id in a ledger where there is one release of its kind: of a model's weights. None elsewhere."""
        return None if self.given is None else f"weights-of-{document_digest(self.given)[:32]}"

    def check_payable(self) -> None:
        """Refuse a release that no budget pays for."""
        if self.given is not None and not self.given.guarantee.private:
            raise UsageError(
                "given: this model carries no guarantee, so no budget pays for its weights; leave the ledger out"
            )
        if not self.mechanism.private:
            raise UsageError(
                f"mechanism: {self.mechanism.name} protects nobody, so no budget pays for it; leave the ledger out"
            )

    @property
    def shares_rule(self) -> str:
        """How the budget is divided: the name of a rule, or three numbers."""
        if self.by_size:
            return SharesRule.BY_SIZE
        return str(self.budget.division) if isinstance(self.budget.division, Division) else SharesRule.EQUAL

    @property
    def inputs(self) -> dict[str, Any]:
        """All that a run which is begun again must share: declared facts, nothing computed from rows."""
        budget = self.budget
        inputs: dict[str, Any] = {
            "domain": digest(self.domain),
            "epsilon": number_text(budget.epsilon),
            "delta": number_text(budget.delta),
            "neighbours": str(budget.neighbours),
            "shares": None if self.shares_rule == SharesRule.EQUAL else self.shares_rule,
            "mechanism": self.mechanism.name,
            "noise": self.noise,
        }
        # Left out where there are none, as equal shares are None: so 0.2.0 charged runs that this program finishes.
        if self.attribute_weights is not None:
            inputs["attribute_weights"] = self.attribute_weights
        if self.public is not None:
            inputs["public"] = {"name": self.public.source.name, "sha256": self.public.source.digest}
        if self.reserved is not None:
            inputs["reserved"] = self.reserved.query
        if self.domain.weight is not None:
            inputs["weight"] = weight_document(self.domain.weight)
        if self.given is not None:
            inputs["given"] = document_digest(self.given)
        return inputs


LIBRARIES = ("numpy", "python-flint")
"""Packages that compute or draw released values; their versions are noted in the model beside the program's own."""


def release(statistics: Statistics, plan: ReleasePlan, draw: Sampler) -> NaiveBayes:
    """Release a model.

    Args:
        statistics: Exact counts. Confidential.
        plan: The queries, their noise and what each may spend.
        draw: Sampler of all noise. Only exact draws from the operating system's generator give a guarantee.
    """
    if statistics.domain != plan.domain and digest(statistics.domain) != digest(plan.domain):
        raise ValueError(f"the statistics were counted in another domain than {plan.domain.name!r}, which is planned")
    shares = {(share.query, share.attribute): share for share in plan.shares}
    classes = plan.mechanism.classes(statistics, shares[CLASS_COUNTS, None], draw)
    weighted = None
    if statistics.domain.weight is not None:
        weighted = plan.mechanism.weighted_classes(statistics, shares[WEIGHTED_COUNTS, None], draw)
    presence = noisy_presence(statistics, plan.shares, draw)
    context = QueryContext(statistics.only(plan.released), classes.released, presence, shares, draw)
    attributes = plan.mechanism.attributes(context)
    if plan.attribute_weights is not None:
        attributes = [bounded(parameters, len(classes.released)) for parameters in attributes]
    guarantee = plan.guarantee(_with_placed_bins(plan.shares, attributes), seeded=not draw.private)
    # From the number of released attributes alone, a public fact. Until a second release, whoever scores by this model
    # has the best weights that are free.
    free = plan.reserved is not None and plan.mechanism.binned and len(statistics.domain.classes) == 2
    method = TEMPERED if free else plan.attribute_weights
    weights = attribute_weights(method, len(attributes), len(statistics.domain.classes))
    if plan.public is not None:
        weights = plan.public.attribute_weights
    if plan.mechanism.private and not plan.mechanism.truncated:
        sizes = postprocessing.class_sizes(plan.released, classes.released, attributes, shares)
        classes = replace(classes, probability=postprocessing.class_shares(sizes))
        if weighted is not None and statistics.domain.weight is not None:
            share, steps = shares[WEIGHTED_COUNTS, None], statistics.domain.weight.steps
            priors = postprocessing.population_shares(classes.probability, sizes, weighted, steps, share)
            weighted = replace(weighted, probability=priors)
    return NaiveBayes(statistics.domain, guarantee, classes, tuple(attributes), dict(software()), weights, weighted)


def release_weights(plan: ReleasePlan, model: NaiveBayes, counts: ScoreCounts, draw: Sampler) -> NaiveBayes:
    """Release the calibration of a model, at once or given the model alone.

    Args:
        model: What ``release`` made of the first pass. Public.
        counts: Exact counts of the later one. Confidential.
        draw: Sampler of all noise.
    """
    if plan.calibration is None:
        raise ValueError("the release was planned without a later pass")
    weights, guarantee = calibrated_weights(model, counts, plan.calibration, draw), model.guarantee
    if plan.given is not None:
        guarantee = _completed(guarantee, plan.calibration, seeded=not draw.private)
    return replace(model, attribute_weights=weights, guarantee=guarantee)


def _completed(guarantee: Guarantee, share: Share, *, seeded: bool) -> Guarantee:
    """State what a model and the weights that were released given it promise together."""
    composition = (*guarantee.composition, share)
    spent, seeded = total(composition), seeded or guarantee.seeded
    # The epsilon and delta that were stated follow from both rhos together.
    stated: dict[str, Any] = {"rho": spent.rho} if isinstance(spent, Concentrated) else {"epsilon": spent.epsilon}
    return replace(guarantee, **stated, composition=composition, seeded=seeded, reserved=None)


def _with_placed_bins(shares: Sequence[Share], attributes: Sequence[AttributeParameters]) -> tuple[Share, ...]:
    """Correct the composition table to the number of bins there are: a plan knows only the most there may be."""
    bins = {each.attribute: sum(map(len, each.released)) for each in attributes if isinstance(each, Histogram)}
    return tuple(
        replace(share, values=bins[share.attribute]) if share.query == COUNTS and share.attribute in bins else share
        for share in shares
    )


@cache
def software() -> dict[str, str]:
    """Return the versions of the program and of what computes or draws released values.

    Cached: looking them up takes longer than a small release.
    """
    return {"dpnb-columnar": __version__, **{name: version(name) for name in LIBRARIES}}
