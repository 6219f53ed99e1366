"""A model of a file is made again of its measurements, and refused where it is another.

Parameters are post-processing: functions of measurements and the declared domain (docs/privacy.md, section 7). So a
file whose parameters are others was not written by a release. The functions are those of the release. Numbers may
differ by 1e-9 of their size, since libraries round differently, and weights that were fitted by a few of their steps.

What cannot be found so: a measurement that was changed together with all that follows from it, a seed that is no longer
spoken of, weights from a public file, which is not at hand. A ledger that was charged for a model tells
(``dpnb_columnar.ledger``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpnb_columnar.core.budget import Concentrated, Share
from dpnb_columnar.core.budget.composition import GRADIENT, calibration_cost, row_effect
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import (
    CALIBRATION,
    CLASS_COUNTS,
    COUNTS,
    EXACT,
    LAPLACE,
    PRESENCE,
    WEIGHTED_COUNTS,
    Key,
    Measurement,
)
from dpnb_columnar.core.mechanisms.tuning import smoothness
from dpnb_columnar.domain import Missing, Numeric
from dpnb_columnar.errors import excerpt
from dpnb_columnar.mechanisms import MechanismRecord, record_named
from dpnb_columnar.model.document import Part, to_document
from dpnb_columnar.model.parameters import (
    CALIBRATED,
    CALIBRATION_RANGES,
    LEARNED,
    PUBLIC,
    TEMPERED,
    AttributeWeights,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
    tempered_weight,
)
from dpnb_columnar.model.query_noise import query_noise
from dpnb_columnar.model.recipes import parameters_of

TOLERANCE = 1e-9
"""Relative. What libraries round differently is far less."""

STEPS_OF_WEIGHTS: Mapping[str, float] = {TEMPERED: 0.0, PUBLIC: 0.0, CALIBRATED: 2e-3, LEARNED: 2 / UNITS}
"""What fitted numbers may be off: two of the steps that they are rounded to."""


def check_made_again(model: NaiveBayes, document: Part) -> None:
    """Refuse a model that its mechanism does not make of its measurements."""
    mechanism = model.guarantee.mechanism
    if (record := record_named(mechanism)) is None:
        raise document["guarantee"]["mechanism"].invalid(f"{excerpt(mechanism)} is no mechanism of this version")
    _Check(model, document, record).check()


class _Check:
    """A model and its document, while one is checked against the other."""

    def __init__(self, model: NaiveBayes, document: Part, rules: MechanismRecord) -> None:
        self.model, self.document, self.rules = model, document, rules
        self.domain, self.guarantee = model.domain, model.guarantee
        self.parts = document["measurements"].items()

    def check(self) -> None:
        self._check_promise()
        self._check_attributes()
        self._check_measurements()
        method = self._method()
        weighted = method is not None or self.guarantee.reserved is not None
        left_out = set(self._left_out())
        kept = tuple(each for each in self.domain.attributes if each.name not in left_out)
        released = replace(self.domain, attributes=kept) if left_out else self.domain
        classes, sums, attributes = parameters_of(released, self.model.measurements, self.rules, weighted=weighted)
        again = replace(
            self.model, classes=classes, weighted_classes=sums, attributes=attributes, attribute_weights=None
        )
        if method is not None:
            again = replace(again, attribute_weights=self._weights(again, method))
        if again != self.model:
            follows, steps = to_document(again), 0.0 if method is None else STEPS_OF_WEIGHTS[method]
            for name in ("classes", "weighted_classes", "attributes"):
                _compare(self.document.entry(name), follows.get(name))
            _compare(self.document.entry("attribute_weights"), follows.get("attribute_weights"), steps)

    def _check_promise(self) -> None:
        part, guarantee = self.document["guarantee"], self.guarantee
        if self.rules.private is (guarantee.epsilon is None):
            says = "a private mechanism states an epsilon" if self.rules.private else "protects nobody: no epsilon"
            raise part["epsilon"].invalid(f"mechanism {guarantee.mechanism}: {says}")
        if not self.rules.private and guarantee.reserved is not None:
            raise part["reserved"].invalid(f"mechanism {guarantee.mechanism} spends no budget")
        if self.rules.smooth is (guarantee.noise is None) and self.rules.private:
            needs = "draws noise of a family" if self.rules.smooth else "has no noise family"
            raise part["noise"].invalid(f"mechanism {guarantee.mechanism} {needs}")

    def _left_out(self) -> Sequence[str]:
        weights = self.model.attribute_weights
        return () if weights is None or weights.source is None else weights.source.left_out

    def _check_attributes(self) -> None:
        left_out = self._left_out()
        declared = [each.name for each in self.domain.attributes if each.name not in left_out]
        expected = declared if self.rules.attributes else []
        released = [each.attribute for each in self.model.attributes]
        if released != expected:
            wrong = sorted(set(expected) ^ set(released)) or released
            raise self.document["attributes"].invalid(
                f"mechanism {self.guarantee.mechanism} releases every declared attribute in its order, and "
                f"{excerpt(wrong[0])} is missing or out of place"
            )
        for parameters in self.model.attributes:
            kind = Normal if self.rules.moments else Histogram
            if not isinstance(parameters, Table | kind):
                part = self.document["attributes"][parameters.attribute]["kind"]
                raise part.invalid(f"mechanism {self.guarantee.mechanism} releases no such parameters")

    def _check_measurements(self) -> None:
        """Check that every query was measured once, of as many numbers and by such noise as its mechanism says."""
        mechanism = self.guarantee.mechanism
        expected = {key: (shape, smooth) for key, shape, smooth in self._queries()}
        for key in expected.keys() - self.model.measured.keys():
            raise self.document["measurements"].invalid(
                f"lacks the query {_query_text(key)}, which mechanism {mechanism} asks"
            )
        asked: set[Key] = set()
        for part, measured in zip(self.parts, self.model.measurements, strict=True):
            if measured.key in asked:
                raise part.invalid(f"repeats the query {_query_text(measured.key)}")
            asked.add(measured.key)
            shape, smooth = expected.get(measured.key) or (self._later(measured, part), False)
            rows, columns = shape
            if [len(row) for row in measured.values] != [columns] * rows:
                raise part["values"].invalid(f"expected {rows} rows of {columns} numbers")
            self._check_noise(measured, part, smooth)
        if self.guarantee.reserved is not None:
            self._check_reserved(self.guarantee.reserved, asked)

    def _check_reserved(self, left: Share, asked: set[Key]) -> None:
        """Check that what is left for a later release is the share of a calibration, as that will ask."""
        part = self.document["guarantee"]["reserved"]
        if (left.query, left.attribute) in asked or (left.query, left.attribute) != (CALIBRATION, None):
            raise part["query"].invalid("is no query that is left for later")
        if left.values != (values := CALIBRATION_RANGES * min(len(self.domain.classes), 3)):
            raise part["values"].invalid(f"says {left.values}, and the query has {values}")
        if left.noise != LAPLACE:
            raise part["noise"].invalid(f"{excerpt(left.noise)} is not the noise of this query")
        self._check_row_cost(left, part, smooth=False)

    def _check_noise(self, measured: Measurement, part: Part, smooth: bool) -> None:
        later = measured.query == CALIBRATION or measured.query.startswith(GRADIENT)
        if measured.share is None or not (self.rules.private or later):
            if self.rules.private or later or measured.share is not None or measured.noise != EXACT:
                what = "lacks a share" if self.rules.private or later else "has a share or noise"
                raise part.invalid(f"{what}, which does not suit mechanism {self.guarantee.mechanism}")
            if measured.query == self.rules.moments[-1] and min(measured.column) < 0:
                raise part["values"].invalid("is below 0, and exact")
            return
        families = {self.guarantee.noise} if smooth else {LAPLACE}
        if self.rules.counts_noise is not None and measured.query in (CLASS_COUNTS, WEIGHTED_COUNTS):
            families = {self.guarantee.noise, self.rules.counts_noise}
        if measured.noise not in families:
            raise part["noise"].invalid(f"{excerpt(measured.noise)} is not the noise of this query")
        self._check_row_cost(measured.share, part["share"], smooth=smooth)
        if measured.query.startswith(GRADIENT):
            return  # its scale follows from the rounds
        known = query_noise(self.domain, measured.share, self.model.sizes(measured.attribute))
        if (known is None) is not (measured.scale is None):
            raise part["scale"].invalid("is stated, and follows the rows" if known is None else "is missing")
        if known is not None:
            scales = known.scales if len(known.scales) > 1 else known.scales * len(measured.values)
            _compare(part["scale"], [scale / known.factor for scale in scales])

    def _queries(self) -> Iterator[tuple[Key, tuple[int, int], bool]]:
        """Yield each query of the mechanism, how many rows of numbers it has, and whether its noise is a family's."""
        classes = len(self.domain.classes)
        yield (CLASS_COUNTS, None), (classes, 1), False
        if self.domain.weight is not None:
            yield (WEIGHTED_COUNTS, None), (classes, 1), False
        for parameters in self.model.attributes:
            name, attribute = parameters.attribute, self.domain[parameters.attribute]
            if isinstance(parameters, Normal):
                for query in self.rules.moments:
                    yield (query, name), (classes, 1), self.rules.smooth
            else:
                yield (COUNTS, name), (classes, len(parameters.probability[0])), False
            if isinstance(parameters, Histogram):
                for query in self.rules.placing:
                    yield (query, name), (1, 1), self.rules.smooth
            if isinstance(attribute, Numeric) and (columns := self._presence_columns(attribute)):
                yield (PRESENCE, name), (classes, columns), False

    def _presence_columns(self, attribute: Numeric) -> int:
        """Return how many numbers of values present a class has: of those that are missing as well, or none."""
        if attribute.missing is Missing.CATEGORY:
            return 2
        return int(not self.rules.private or (attribute.missing is Missing.SKIP and self.rules.samples))

    def _later(self, measured: Measurement, part: Part) -> tuple[int, int]:
        """Return how many rows of numbers a query of a later pass has."""
        classes = len(self.domain.classes)
        if measured.key == (CALIBRATION, None):
            return CALIBRATION_RANGES, min(classes, 3)
        if measured.attribute is None and measured.query.startswith(GRADIENT) and classes == 2:
            return len(self.model.attributes) + 1, 1
        raise part["query"].invalid(f"{_query_text(measured.key)} is no query of this model")

    def _check_row_cost(self, share: Share, part: Part, *, smooth: bool) -> None:
        """Check that one row's part of a share is what the share is divided into: noise is calibrated to it."""
        if self.guarantee.neighbours is None:
            return
        rows = self.guarantee.neighbours.rows * (1 if self.domain.unit is None else self.domain.unit.rows)
        follows = calibration_cost(share.cost, type(share.row_cost), rows, row_effect(share.query))
        if follows != share.row_cost:
            name = "rho" if isinstance(share.row_cost, Concentrated) else "epsilon"
            raise part[f"row_{name}"].invalid("is not the share's loss divided by the rows that neighbours differ in")
        if smooth:
            try:
                smoothness(share.noise, share.row_cost)
            except ValueError as error:
                raise part.invalid(str(error)) from None

    def _method(self) -> str | None:
        """Return how attributes are weighted, if that suits what was measured."""
        weights, classes = self.model.attribute_weights, len(self.domain.classes)
        part = self.document.entry("attribute_weights")
        once = (CALIBRATION, None) in self.model.measured
        rounds = any(each.query.startswith(GRADIENT) for each in self.model.measurements)
        if weights is None:
            if once or rounds:
                raise part.invalid("is missing, and they were measured")
            return None
        method = weights.method
        needed = {
            TEMPERED: not once and not rounds and classes == 2 and self.rules.binned,
            PUBLIC: not once and not rounds and classes == 2,
            CALIBRATED: once and not rounds,
            LEARNED: rounds and once and classes == 2,
        }
        if not needed.get(method, False):
            raise part["method"].invalid(f"{excerpt(method)} does not suit what was measured")
        if (weights.source is not None) is not (method == PUBLIC):
            raise part.entry("source").invalid("is stated for weights from a public file, and only for them")
        return method

    def _weights(self, tables: NaiveBayes, method: str) -> AttributeWeights | None:
        """Make the weights of a model again, of the model without them; those from a public file are checked alone."""
        if method == PUBLIC:
            self._check_public()
            return self.model.attribute_weights
        if method == TEMPERED:
            size = len(tables.attributes)
            return AttributeWeights(TEMPERED, (tempered_weight(size),) * size, (0.0,) * len(self.domain.classes))
        from dpnb_columnar.model.score_calibration import calibrated_weights
        from dpnb_columnar.model.weight_rounds import start_rounds

        if method == LEARNED:
            rounds = start_rounds(tables)
            for part, measured in zip(self.parts, self.model.measurements, strict=True):
                if measured.query.startswith(GRADIENT) and measured.share is not None:
                    noise = query_noise(self.domain, measured.share)
                    scale = None if noise is None else [float(rounds.bound) * noise.scale()] * len(measured.values)
                    _compare(part["scale"], scale)
                    rounds = rounds.after(measured)
            tables = replace(tables, attribute_weights=rounds.weights)
        return calibrated_weights(tables, self.model.measured[CALIBRATION, None])

    def _check_public(self) -> None:
        """Check what is known of weights from a file that is not at hand: they are numbers of at most three digits."""
        part, weights = self.document["attribute_weights"], self.model.attribute_weights
        assert weights is not None
        if weights.line is not None:
            raise part["line"].invalid("does not suit public weights")
        if weights.intercepts[0]:
            raise part["intercepts"].invalid("says that the first class has an intercept")
        digits = "and such {} are of at most three digits"
        for parameters, weight in zip(self.model.attributes, weights.weights, strict=True):
            if not (_is_whole(1000 * weight) and 0 <= weight <= 2):
                raise part["weights"][parameters.attribute].invalid(f"says {weight!r}, {digits.format('weights')}")
        for intercept in weights.intercepts:
            if not _is_whole(1000 * intercept):
                raise part["intercepts"].invalid(f"says {intercept!r}, {digits.format('intercepts')}")


def _query_text(key: Key) -> str:
    query, attribute = key
    return excerpt(query) if attribute is None else f"{excerpt(query)} of attribute {excerpt(attribute)}"


def _is_whole(number: float) -> bool:
    return math.isclose(number, round(number), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _compare(part: Part, follows: Any, steps: float = 0.0) -> None:
    """Refuse the first part of a document that does not follow from the measurements; floats may be some steps off."""
    stated = part.value
    if stated == follows:
        return
    if isinstance(follows, dict) and isinstance(stated, dict):
        for name in dict.fromkeys((*follows, *stated)):
            _compare(part.entry(name), follows.get(name), steps)
        return
    if isinstance(follows, list) and isinstance(stated, list) and len(follows) == len(stated):
        for place, number in enumerate(follows):
            _compare(Part(stated[place], f"{part.place}.{place}"), number, steps)
        return
    numbers = isinstance(follows, float) and isinstance(stated, int | float) and not isinstance(stated, bool)
    if numbers and math.isclose(stated, follows, rel_tol=TOLERANCE, abs_tol=steps):
        return
    raise part.invalid(f"says {excerpt(stated)}, and {excerpt(follows)} follows from the measurements")
