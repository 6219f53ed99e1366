"""Compute the parameters of a model again from its released values, and refuse a model that contradicts itself.

Parameters are post-processing: functions of released values, shares and the declared domain (docs/privacy.md, section
7). So a file whose parameters are others was not written by a release. The functions are those of the release. Numbers
may differ by 1e-9 of their size, since libraries round differently, and by what the rounding of released moments to
the file's floats makes of them.

What cannot be found so: a released value that was changed together with all that follows from it, a seed that is no
longer spoken of, attribute weights of later passes (the file does not hold what they were fitted to, only their form
is known). A ledger that was charged for a model tells (``dpnb_columnar.ledger``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from dpnb_columnar.budget import Concentrated, Share
from dpnb_columnar.budget.composition import GRADIENT, calibration_cost, row_effect
from dpnb_columnar.code_limits import UNITS, squares_shift
from dpnb_columnar.domain import Categorical, Missing, Numeric
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.bins import adaptive_edges, declared_edges
from dpnb_columnar.model.document_part import Part
from dpnb_columnar.model.mechanism_rules import CALIBRATED, CALIBRATION_RANGES, LARGEST_LOG_RATIO, LEARNED, PUBLIC, ROUND_LOG_ODDS, ROUND_WEIGHTS, RULES, SPREAD_FIELDS, TEMPERED, MechanismRules, tempered_weight
from dpnb_columnar.core.measurement import CALIBRATION, CLASS_COUNTS, COUNTS, LAPLACE, PRESENCE, WEIGHTED_COUNTS
from dpnb_columnar.model.parameters import (
    AttributeParameters,
    AttributeWeights,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Table,
)
from dpnb_columnar.model.query_noise import model_noise
from dpnb_columnar.model.tuning import cell_prior, positive_sum, sample_size, share_bins, smoothness

TOLERANCE = 1e-9
"""Relative. What libraries round differently is far less."""

ROUNDING = 2.0**-50
"""Relative, of a released moment in a file: a few roundings of a 64-bit float."""

Key = tuple[str, str | None]
"""A query, and the attribute that it is about."""


def check_parameters(model: NaiveBayes, document: Part) -> None:
    """Refuse a model whose parameters, or whose composition table, do not follow from what was released."""
    mechanism = model.guarantee.mechanism
    if mechanism not in RULES:
        raise document["guarantee"]["mechanism"].invalid(f"{excerpt(mechanism)} is no mechanism of this version")
    _ModelCheck(model, document, RULES[mechanism]).check()


class _ModelCheck:
    """A model and its document, while one is checked against the other."""

    def __init__(self, model: NaiveBayes, document: Part, rules: MechanismRules) -> None:
        self.model, self.document, self.rules = model, document, rules
        self.domain = model.domain
        self.guarantee = model.guarantee
        self.shares: dict[Key, Share] = {(each.query, each.attribute): each for each in self.guarantee.composition}
        self.bodies = document["attributes"].entries()

    def check(self) -> None:
        self._check_flags()
        self._check_attributes()
        self._check_shares()
        self._check_noise()
        self._check_shares_of_classes()
        for parameters in self.model.attributes:
            self._check_parameters(self.bodies[parameters.attribute], parameters)
        self._check_weights()

    # The guarantee: flags, and the composition table beside what was released.

    def _check_flags(self) -> None:
        part, guarantee = self.document["guarantee"], self.guarantee
        if self.rules.private is (guarantee.epsilon is None):
            says = "a private mechanism states an epsilon" if self.rules.private else "protects nobody: no epsilon"
            raise part["epsilon"].invalid(f"mechanism {guarantee.mechanism}: {says}")
        if not self.rules.private and guarantee.shares:
            raise part["composition"].invalid(f"mechanism {guarantee.mechanism} spends no budget")
        if self.rules.smooth is (guarantee.noise is None) and self.rules.private:
            needs = "draws noise of a family" if self.rules.smooth else "has no noise family"
            raise part["noise"].invalid(f"mechanism {guarantee.mechanism} {needs}")

    def _check_attributes(self) -> None:
        weights = self.model.attribute_weights
        left_out = () if weights is None or weights.source is None else weights.source.left_out
        declared = [each.name for each in self.domain.attributes if each.name not in left_out]
        expected = declared if self.rules.attributes else []
        released = [each.attribute for each in self.model.attributes]
        if released != expected:
            wrong = sorted(set(expected) ^ set(released)) or released
            raise self.document["attributes"].invalid(
                f"mechanism {self.guarantee.mechanism} releases every declared attribute in its order, and "
                f"{excerpt(wrong[0])} is missing or out of place"
            )

    def _check_shares(self) -> None:
        """Check that every query has the one share that its mechanism asks for, of as many numbers as are released."""
        if not self.rules.private:
            return
        part, guarantee = self.document["guarantee"]["composition"], self.guarantee
        keys = Counter((share.query, share.attribute) for share in guarantee.composition)
        expected = {key: (values, smooth) for key, values, smooth in self._queries()}
        for key in expected.keys() - keys.keys():
            raise part.invalid(f"lacks the query {_query_text(key)}, which mechanism {guarantee.mechanism} asks")
        for share, entry in zip(guarantee.shares, self._share_parts(), strict=True):
            key = (share.query, share.attribute)
            if keys[key] > (share is not guarantee.reserved):
                raise entry.invalid(f"repeats the query {_query_text(key)}")
            values, smooth = expected.get(key) or self._later(share, entry)
            if share.values != values:
                raise entry["values"].invalid(f"says {share.values}, and the model holds {values}")
            families = {guarantee.noise} if smooth else {LAPLACE}
            if guarantee.mechanism == "paper" and share.query in (CLASS_COUNTS, WEIGHTED_COUNTS):
                families = {guarantee.noise, "cauchy"}
            if share.noise not in families:
                raise entry["noise"].invalid(f"{excerpt(share.noise)} is not the noise of this query")
            self._check_row_cost(share, entry, smooth)

    def _check_noise(self) -> None:
        """Check that the scale that each share states follows from the share, and from the released sizes."""
        entries = self.document["guarantee"]["composition"].items()
        for entry, noise in zip(entries, model_noise(self.model).values(), strict=True):
            if noise is None:
                if entry["scale"].value is not None:
                    raise entry["scale"].invalid("is stated, and follows the rows")
                continue
            numbers = entry["scale"] if len(noise.scales) > 1 else Part([entry["scale"].value], entry["scale"].place)
            _compare(entry["scale"], numbers.numbers(len(noise.scales)), noise.scales)
            if entry["unit"].text() != noise.unit:
                raise entry["unit"].invalid(f"says {excerpt(entry['unit'].value)}, and {excerpt(noise.unit)} follows")

    def _share_parts(self) -> list[Part]:
        """Return the entries of the composition table, then that of the share that is left."""
        part = self.document["guarantee"]
        left = [] if self.guarantee.reserved is None else [part["reserved"]]
        return [*part["composition"].items(), *left]

    def _queries(self) -> Iterator[tuple[Key, int, bool]]:
        """Yield each query of the mechanism, how many numbers it releases, and whether its noise is a named family."""
        classes = len(self.domain.classes)
        yield (CLASS_COUNTS, None), classes, False
        if self.domain.weight is not None:
            yield (WEIGHTED_COUNTS, None), classes, False
        for parameters in self.model.attributes:
            name = parameters.attribute
            if isinstance(parameters, Normal):
                for query in self.rules.moments:
                    yield (query, name), classes, self.rules.smooth
            else:
                yield (COUNTS, name), sum(map(len, parameters.released)), False
            if isinstance(parameters, Histogram):
                for query in self.rules.placing:
                    yield (query, name), 1, self.rules.smooth
            if not isinstance(parameters, Table) and parameters.presence is not None:
                yield (PRESENCE, name), sum(map(len, parameters.presence.released)), False

    def _later(self, share: Share, entry: Part) -> tuple[int, bool]:
        """Return how many numbers a query of a later pass releases."""
        classes = len(self.domain.classes)
        if share.attribute is None and share.query == CALIBRATION:
            return CALIBRATION_RANGES * min(classes, 3), False
        summed = share.query.startswith(GRADIENT) and share is not self.guarantee.reserved
        if share.attribute is None and summed and classes == 2:
            return len(self.model.attributes) + 1, False
        raise entry["query"].invalid(f"{_query_text((share.query, share.attribute))} is no query of this model")

    def _check_row_cost(self, share: Share, entry: Part, smooth: bool) -> None:
        """Check that one row's part of a share is what the share is divided into: noise is calibrated to it."""
        if self.guarantee.neighbours is None:
            return
        rows = self.guarantee.neighbours.rows * (1 if self.domain.unit is None else self.domain.unit.rows)
        follows = calibration_cost(share.cost, type(share.row_cost), rows, row_effect(share.query))
        if follows != share.row_cost:
            name = "rho" if isinstance(share.row_cost, Concentrated) else "epsilon"
            raise entry[f"row_{name}"].invalid("is not the share's loss divided by the rows that neighbours differ in")
        if smooth:
            try:
                smoothness(share.noise, share.row_cost)
            except ValueError as error:
                raise entry["noise"].invalid(str(error)) from None

    # Parameters.

    def _check_shares_of_classes(self) -> None:
        classes, weighted, weight = self.model.classes, self.model.weighted_classes, self.domain.weight
        follows = postprocessing.class_counts(classes.released)
        population = None
        if weighted is not None and weight is not None:
            population = postprocessing.class_counts(weighted.released, weight.steps)
        if self.rules.private and not self.rules.truncated:
            sizes = postprocessing.class_sizes(self.domain, classes.released, self.model.attributes, self.shares)
            follows = replace(follows, probability=postprocessing.class_shares(sizes))
            if population is not None and weight is not None:
                share = self.shares[WEIGHTED_COUNTS, None]
                shares = postprocessing.population_shares(follows.probability, sizes, population, weight.steps, share)
                population = replace(population, probability=shares)
        _compare(self.document["classes"]["probability"], classes.probability, follows.probability)
        if weighted is not None and population is not None:
            part = self.document["weighted_classes"]["probability"]
            _compare(part, weighted.probability, population.probability)

    def _check_parameters(self, body: Part, parameters: AttributeParameters) -> None:
        name = parameters.attribute
        attribute, prior = self.domain[name], self._prior(COUNTS, name)
        if isinstance(parameters, Table):
            assert isinstance(attribute, Categorical)
            table = (
                postprocessing.truncated_table(attribute, parameters.released)
                if prior is None
                else postprocessing.table(attribute, parameters.released, self.model.classes.released, prior)
            )
            _compare_rows(body["probability"], parameters.probability, table.probability)
            return
        assert isinstance(attribute, Numeric)
        if isinstance(parameters, Normal) is not bool(self.rules.moments):
            raise body["kind"].invalid(f"mechanism {self.guarantee.mechanism} releases no such parameters")
        self._check_presence(body, attribute, parameters.presence)
        sizes = self._sizes(parameters.presence)
        if isinstance(parameters, Normal):
            self._check_normal(body, attribute, parameters, sizes)
            self._check_bound(body, parameters)
            return
        self._check_edges(body, attribute, parameters, sizes)
        assert prior is not None
        bins = postprocessing.histogram(attribute, parameters.edges, parameters.released, sizes, prior)
        _compare_rows(body["probability"], parameters.probability, bins.probability)

    def _prior(self, query: str, name: str) -> Fraction | None:
        """What is added to every count of a query; None where counts are truncated and nothing else."""
        if self.rules.truncated or (query, name) not in self.shares:
            return None
        return cell_prior(self.shares[query, name])

    def _check_presence(self, body: Part, attribute: Numeric, presence: Presence | None) -> None:
        asked = attribute.missing is Missing.CATEGORY or (attribute.missing is Missing.SKIP and self.rules.samples)
        if asked is (presence is None):
            what = "is missing" if asked else "was not asked for"
            raise body.entry("presence").invalid(f"{what} by mechanism {self.guarantee.mechanism}")
        if presence is None:
            return
        prior = self._prior(PRESENCE, attribute.name)
        follows = (
            postprocessing.truncated_presence(presence.released)
            if prior is None
            else postprocessing.presence(presence.released, self.model.classes.released, prior)
        )
        _compare_rows(body["presence"]["probability"], presence.probability, follows.probability)

    def _sizes(self, presence: Presence | None) -> list[int]:
        """The released number of values per class; where it was not asked for, the class counts."""
        if presence is None:
            return list(self.model.classes.released)
        return [present for present, *_ in presence.released]

    def _check_normal(self, body: Part, attribute: Numeric, parameters: Normal, sizes: list[int]) -> None:
        mechanism, spread_query = self.guarantee.mechanism, self.rules.moments[-1]
        spread, drawn = parameters.released_spread
        if spread != SPREAD_FIELDS[spread_query]:
            raise body[spread].invalid(f"mechanism {mechanism} releases no {spread_query} so")
        if not self.rules.private and min(drawn) < 0:
            raise body[spread].invalid("is below 0, and exact")
        follow = postprocessing.NORMALS[mechanism]
        share = self.shares.get((spread_query, attribute.name))
        scale = attribute.scale
        unit = scale.step if spread_query == "deviation" else scale.step**2
        if spread_query == "mean of squares":
            unit *= 2 ** squares_shift(scale.cells)
        means = [(mean - scale.origin) / scale.step for mean in parameters.released_mean]
        spreads = [number / unit for number in drawn]

        def following(means: Sequence[float], spreads: Sequence[float], sizes: Sequence[int]) -> Normal:
            return follow(attribute, means, spreads, sizes, share)

        public = sizes if share is None else list(map(sample_size, sizes))
        recomputed = following(means, spreads, public)
        if _are_close(parameters.mean, recomputed.mean) and _are_close(parameters.deviation, recomputed.deviation):
            return
        # The exact moments were rounded to the file's floats, and a small variance may have been next to the floor.
        off_mean = [ROUNDING * (abs(mean) + abs(scale.origin)) / scale.step for mean in parameters.released_mean]
        off_spread = [ROUNDING * abs(spread) for spread in spreads]
        possible = [recomputed]
        for counted in [public] if share is not None else self._possible_sizes(public, spreads):
            for low, high in product((-1, 0, 1), repeat=2):
                possible.append(
                    following(
                        [mean + low * off for mean, off in zip(means, off_mean, strict=True)],
                        [spread + high * off for spread, off in zip(spreads, off_spread, strict=True)],
                        counted,
                    )
                )
        for field, stated in (("mean", parameters.mean), ("deviation", parameters.deviation)):
            columns = list(zip(*(getattr(each, field) for each in possible), strict=True))
            nearest = [
                min(max(number, min(column)), max(column)) for number, column in zip(stated, columns, strict=True)
            ]
            if not _are_close(stated, nearest):
                _compare(body[field], stated, getattr(recomputed, field), nearest)

    def _possible_sizes(self, sizes: list[int], spreads: list[float]) -> list[list[int]]:
        """Sizes that an exact model may have had: it does not say how many rows had a value.

        An average of variances by any sizes lies between the smallest and the largest variance.
        """
        ends = (spreads.index(min(spreads)), spreads.index(max(spreads)))
        return [sizes, *([2**60 if place == end else 1 for place in range(len(sizes))] for end in ends)]

    def _check_bound(self, body: Part, parameters: Normal) -> None:
        weighted = self.model.attribute_weights is not None or self.guarantee.reserved is not None
        follows = LARGEST_LOG_RATIO if weighted and len(self.domain.classes) == 2 else None
        if parameters.bound != follows:
            raise body.entry("bound").invalid(f"says {excerpt(parameters.bound)}, and {follows} follows")

    def _check_edges(self, body: Part, attribute: Numeric, parameters: Histogram, sizes: list[int]) -> None:
        name, placed = attribute.name, (parameters.released_mean, parameters.released_variance)
        if self.rules.placing:
            share = self.shares[self.rules.placing[-1], name]
            noise, size = smoothness(share.noise, share.row_cost), sample_size(positive_sum(sizes))
            mean, variance = placed
            if mean is None or variance is None:
                raise body.invalid("holds no released_mean and released_variance, which placed the bins")
            bins = share_bins(sizes, self.shares[COUNTS, name])
            possible = [  # another machine's library may round the last digit otherwise
                adaptive_edges(attribute, bins, mean, variance * (1 + off * ROUNDING), size, noise)
                for off in (0, -1, 1)
            ]
        elif placed != (None, None):
            raise body.entry("released_mean").invalid(f"mechanism {self.guarantee.mechanism} releases none")
        else:
            possible = [declared_edges(attribute, share_bins(sizes, self.shares[COUNTS, name]))]
        if list(parameters.edges) not in possible:
            raise body["edges"].invalid("other edges follow from the released values")

    # Attribute weights: of those that were fitted to the rows the file holds the form alone.

    def _check_weights(self) -> None:
        weights, classes = self.model.attribute_weights, len(self.domain.classes)
        part = self.document.entry("attribute_weights")
        spent = [share.query for share in self.guarantee.composition if share.attribute is None]
        once, rounds = CALIBRATION in spent, any(query.startswith(GRADIENT) for query in spent)
        if weights is None:
            if once or rounds:
                raise part.invalid("is missing, and the composition has a share for it")
            return
        method = weights.method
        needed = {
            TEMPERED: not once and not rounds and classes == 2 and self.rules.binned,
            PUBLIC: not once and not rounds and classes == 2,
            CALIBRATED: once and not rounds,
            LEARNED: rounds and once and classes == 2,
        }
        if not needed.get(method, False):
            raise part["method"].invalid(f"{excerpt(method)} does not suit the composition")
        if (weights.source is not None) is not (method == PUBLIC):
            raise part.entry("source").invalid("is stated for weights from a public file, and only for them")
        if (weights.line is not None) is not once:
            raise part.entry("line").invalid("is missing" if once else f"does not suit {method} weights of this model")
        shares = self.model.classes.probability
        if weights.line is not None and weights.line.largest != (largest := shares.index(max(shares))):
            raise part["line"]["class"].invalid(f"is not the largest, {excerpt(self.domain.classes[largest])}")
        self._check_form(part, weights, rounds)

    def _check_form(self, part: Part, stated: AttributeWeights, rounds: bool) -> None:
        """Check what is known of weights without what they were fitted to: those of rows are few-digit numbers."""
        weights, intercepts = stated.weights, stated.intercepts
        names = [each.attribute for each in self.model.attributes]
        tempered = stated.method in (TEMPERED, CALIBRATED)  # without rounds a line is of the tempered score's margins
        if tempered:
            first = tempered_weight(len(names))
            for name, weight in zip(names, weights, strict=True):
                if not _are_close([weight], [first]):
                    raise part["weights"][name].invalid(f"says {weight!r}, and {first!r} is the weight of all")
        if intercepts[0] or (tempered and any(intercepts)):
            raise part["intercepts"].invalid("says that the first class has an intercept" if intercepts[0] else "not 0")
        if tempered:
            return
        units, digits = (UNITS, "multiples of 1/256") if rounds else (1000, "of at most three digits")
        least, most = ROUND_WEIGHTS if rounds else (0.0, 2.0)
        for name, weight in zip(names, weights, strict=True):
            if not (_is_whole(weight * units) and least <= weight <= most):
                raise part["weights"][name].invalid(f"says {weight!r}, and such weights are {digits}")
        for intercept in intercepts:
            if not _is_whole(intercept * units):
                raise part["intercepts"].invalid(f"says {intercept!r}, and such intercepts are {digits}")
            if rounds and abs(intercept) > ROUND_LOG_ODDS:
                raise part["intercepts"].invalid(f"says {intercept!r}, and rounds keep within {ROUND_LOG_ODDS:g} of 0")


def _query_text(key: Key) -> str:
    query, attribute = key
    return excerpt(query) if attribute is None else f"{excerpt(query)} of attribute {excerpt(attribute)}"


def _is_whole(number: float) -> bool:
    return math.isclose(number, round(number), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _are_close(stated: Sequence[float], follows: Sequence[float]) -> bool:
    """Compare numbers within ``TOLERANCE``, the default of ``math.isclose``; equal ones, as most are, at once."""
    return stated == follows or all(map(math.isclose, stated, follows))


def _compare_rows(part: Part, stated: Sequence[Sequence[float]], follows: Sequence[Sequence[float]]) -> None:
    if stated == follows:
        return
    for row, numbers, expected in zip(part.items(), stated, follows, strict=True):
        _compare(row, numbers, expected)


def _compare(
    part: Part, stated: Sequence[float], follows: Sequence[float], nearest: Sequence[float] | None = None
) -> None:
    """Refuse the first of some numbers that is not what follows."""
    allowed = follows if nearest is None else nearest
    if _are_close(stated, allowed):
        return
    for place, (number, least) in enumerate(zip(stated, allowed, strict=True)):
        if not math.isclose(number, least):
            raise Part(number, f"{part.place}.{place}").invalid(
                f"says {number!r}, and {follows[place]!r} follows from the released values"
            )
