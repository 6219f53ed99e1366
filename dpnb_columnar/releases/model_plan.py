"""A planned release of a model: what it asks the rows, and what is drawn of each answer.

What is drawn are measurements, by functions of the core: ``draw_tables``, and of later passes ``draw_gradient`` and
``draw_margins``. All else is made of measurements. Claim: under the budget's neighbouring relation the model is
(epsilon, delta)-differentially private, as the sum of the composition table says. Proof in docs/privacy.md, sections 2
to 6.

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
from dpnb_columnar.core.budget.composition import GRADIENT, Guarantee
from dpnb_columnar.core.measurement import CALIBRATION, Measurement
from dpnb_columnar.core.mechanisms.later import draw_gradient, draw_margins
from dpnb_columnar.core.mechanisms.mechanism import Mechanism, draw_tables
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest, weight_document
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms import MechanismRecord, record_named
from dpnb_columnar.model.document import document_digest
from dpnb_columnar.model.parameters import TEMPERED, NaiveBayes
from dpnb_columnar.model.recipes import parameters_of
from dpnb_columnar.model.score_calibration import calibrated_weights, margins_given
from dpnb_columnar.model.weight_rounds import start_rounds
from dpnb_columnar.releases.attribute_weights import PublicWeights, attribute_weights
from dpnb_columnar.version import __version__


@dataclass(frozen=True, slots=True)
class Pass:
    """One question to the rows, and how its answer is released.

    Attributes:
        query: What the rows are asked. Public.
        draw: Takes the exact answer, which is confidential, and the sampler of all noise; returns measurements.
        asking, drawing: Names of the stages in which rows are read, and noise is drawn.
        values: Number of values that are drawn, for whoever waits; 0 where they are few.
    """

    query: Query[Any]
    draw: Callable[[Any, Sampler], Any]
    asking: str = "counting"
    drawing: str = "releasing"
    values: int = 0


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """A checked release of a model: public facts alone. Only ``releases.plan`` makes one.

    Attributes:
        budget: Privacy budget, and the relation that it refers to: of whole units where the domain has one.
        noise: Name of the noise family for smooth sensitivity; None where the mechanism uses none.
        shares: The composition table: every query with its share of the budget, the class counts first.
        attribute_weights: How attributes are weighted in the model's score (``attribute_weights``); None for
            ordinary naive Bayes.
        public: What a public file says about the attributes; None if there is none. The domain is without those that it
            leaves out, unless they decide which rows count.
        reserved: The share that is left for a second release, given the model of this one; None for none.
        given: The model whose reserved share this release spends, on weights alone; None for a release of tables.
        by_size: Whether the part of all attributes is divided by their size (``divide_by_size``).
        automatic: Whether ``auto`` chose these weights.
        uncalibrated: Whether it would have chosen ``calibrated`` if the rows could be read a second time.
        mechanism_reason: Why ``auto`` chose the mechanism (``plan.resolved_mechanism``); None where it was named.
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
    def record(self) -> MechanismRecord:
        """All that is known of the mechanism."""
        record = record_named(self.mechanism.name)
        assert record is not None
        return record

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

    def draw(self, statistics: Statistics, sampler: Sampler) -> tuple[Measurement, ...]:
        """Draw all that is released of the first pass."""
        if statistics.domain != self.domain and digest(statistics.domain) != digest(self.domain):
            raise ValueError(
                f"the statistics were counted in another domain than {self.domain.name!r}, which is planned"
            )
        return draw_tables(statistics, self.mechanism, self.shares, self.released, sampler)

    def model_of(self, measurements: Sequence[Measurement], *, seeded: bool) -> NaiveBayes:
        """Make a model of what was drawn of the first pass."""
        order = {(share.query, share.attribute): place for place, share in enumerate(self.shares)}
        drawn = tuple(sorted(measurements, key=lambda each: order.get(each.key, 0)))
        weighted = self.attribute_weights is not None
        priors, sums, attributes = parameters_of(self.released, drawn, self.record, weighted=weighted)
        # From the number of released attributes alone, a public fact. Until a second release, whoever scores by this
        # model has the best weights that are free.
        classes = len(self.domain.classes)
        free = self.reserved is not None and self.mechanism.binned and classes == 2
        weights = attribute_weights(TEMPERED if free else self.attribute_weights, len(attributes), classes)
        if self.public is not None:
            weights = self.public.attribute_weights
        guarantee = self.guarantee(tuple(each.share for each in drawn if each.share is not None), seeded=seeded)
        return NaiveBayes(self.domain, guarantee, drawn, priors, attributes, dict(software()), weights, sums)

    def calibrated(self, model: NaiveBayes, measured: Measurement, *, seeded: bool) -> NaiveBayes:
        """Add the weights that are fitted to the counts of a later pass, at once or given the model alone."""
        completed = _measured_besides(replace(model, attribute_weights=calibrated_weights(model, measured)), measured)
        if self.given is None:
            return completed
        return replace(completed, guarantee=_completed(completed.guarantee, seeded=seeded))

    def passes(self, *, seeded: bool) -> Generator[Pass, Any, NaiveBayes]:
        """Yield the questions to the rows, each of them made of what was released of the answers before."""
        if self.given is None:
            values = sum(share.values for share in self.shares if share not in (self.calibration, *self.rounds))
            tables = yield Pass(CellQuery(self.domain), self.draw, values=values)
            model = self.model_of(tables, seeded=seeded)
        else:
            model = self.given
        return (yield from self.later_passes(model, seeded=seeded))

    def later_passes(self, model: NaiveBayes, *, seeded: bool) -> Generator[Pass, Any, NaiveBayes]:
        """Yield the questions given a model of the tables."""
        if self.rounds:
            weights, gradients = start_rounds(model), []
            for share in self.rounds:
                gradient = yield Pass(
                    weights.query,
                    partial(draw_gradient, weights.query, share),
                    asking=f"summing up {share.query}",
                    drawing=f"releasing {share.query}",
                )
                weights = weights.after(gradient)
                gradients.append(gradient)
            model = _measured_besides(replace(model, attribute_weights=weights.weights), *gradients)
        if self.calibration is not None:
            margins = margins_given(model)
            measured = yield Pass(
                margins,
                partial(draw_margins, margins, self.calibration),
                asking="counting margins",
                drawing="releasing weights",
            )
            model = self.calibrated(model, measured, seeded=seeded)
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
    """Draw the tables of a model, and make it; only exact draws from the system's generator give a guarantee."""
    return plan.model_of(plan.draw(statistics, draw), seeded=not draw.private)


def _measured_besides(model: NaiveBayes, *measured: Measurement) -> NaiveBayes:
    """Add measurements of later passes to those of a model, and to the composition of what is promised."""
    guarantee, shares = model.guarantee, [each.share for each in measured if each.share is not None]
    if guarantee.epsilon is not None:
        guarantee = replace(guarantee, composition=(*guarantee.composition, *shares))
    return replace(model, measurements=(*model.measurements, *measured), guarantee=guarantee)


def _completed(guarantee: Guarantee, *, seeded: bool) -> Guarantee:
    """State what a model and the weights that were released given it promise together."""
    spent, seeded = total(guarantee.composition), seeded or guarantee.seeded
    # The epsilon and delta that were stated follow from both rhos together.
    stated: dict[str, Any] = {"rho": spent.rho} if isinstance(spent, Concentrated) else {"epsilon": spent.epsilon}
    return replace(guarantee, **stated, seeded=seeded, reserved=None)


@cache
def software() -> dict[str, str]:
    """Return the versions of the program and of what computes or draws released values.

    Cached: looking them up takes longer than a small release.
    """
    return {"dpnb-columnar": __version__, **{name: version(name) for name in LIBRARIES}}
