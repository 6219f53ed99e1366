"""The interface of a mechanism, the release that it draws for, and the queries that private mechanisms share.

Samples of public size: how large they are, and the confidential columns that they are drawn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpnb_columnar.core.budget import Division, Parallel, PrivacyCost, Pure, Request, RowEffect, Share, SharesRule
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS, PARALLEL_CLASSES
from dpnb_columnar.core.measurement import (
    CLASS_COUNTS,
    COUNTS,
    LAPLACE,
    PRESENCE,
    WEIGHTED_COUNTS,
    Key,
    Measurement,
    within_largest,
)
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_noise
from dpnb_columnar.core.mechanisms.tuning import positive_sum, sample_size
from dpnb_columnar.core.noise import Laplace, NoiseFamily, Sampler
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import RunLengthColumn
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric, Transform
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.domain.names import number_text

SENSITIVITY = Fraction(1)
"""One row changes one cell of a table by 1. Every cell that the domain declares is released, zero counts included, so
that no absence reveals anything."""


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A release while it is drawn: exact answers, and what was measured of them so far.

    All numbers that leave ``statistics`` leave through ``counts``, ``add`` and ``exact``, which add a measurement. A
    mechanism decides what it asks next by ``measured``, shares and the domain, which are public.

    Attributes:
        statistics: Exact counts. Confidential.
        shares: Shares of the budget by query and attribute. Public.
        sampler: Sampler of all noise.
        measured: What was drawn, by query and attribute, in its order. Public.
    """

    statistics: Statistics
    shares: Mapping[Key, Share]
    sampler: Sampler
    measured: dict[Key, Measurement] = field(default_factory=dict)

    def only(self, domain: Domain) -> Drawing:
        """Return the same release without the attributes that a domain lacks."""
        return replace(self, statistics=self.statistics.only(domain))

    def counts(
        self, query: str, attribute: str | None, rows: Iterable[Iterable[int]], sensitivity: Fraction = SENSITIVITY
    ) -> None:
        """Measure counts of disjoint cells, or sums of weights over these.

        Together they cost the share's ``row_cost`` under add-remove: one row changes one number by the sensitivity at
        most. Exact rows are confidential, the sensitivity is public.
        """
        share = self.shares[query, attribute]
        noisy = [list(noisy_counts(row, share, self.sampler, sensitivity)) for row in rows]
        self.add(query, attribute, noisy, [sensitivity] * len(noisy))

    def add(
        self,
        query: str,
        attribute: str | None,
        values: Sequence[Sequence[int | Fraction]],
        sensitivities: Sequence[Fraction] | None,
    ) -> None:
        """Keep what was drawn for a query, with public sensitivities of its rows; None where they follow the data."""
        share = self.shares[query, attribute]
        scales = None if sensitivities is None else public_scales(constant_noise(share), sensitivities)
        self.measured[query, attribute] = Measurement.of(share, values, scales)

    def exact(self, query: str, attribute: str | None, values: Sequence[Sequence[int | Fraction]]) -> None:
        """Keep exact numbers of a mechanism that protects nobody: what holds them is confidential."""
        self.measured[query, attribute] = Measurement.exact(query, attribute, values)

    def released_sizes(self, attribute: Numeric) -> list[int]:
        """Return the released number of values per class; where it was not asked for, the released class counts."""
        asked = self.measured.get((PRESENCE, attribute.name)) or self.measured[CLASS_COUNTS, None]
        return [present for present, *_ in asked.counts]

    def sample_sizes(self, attribute: Numeric) -> list[int]:
        """Return the public size of an attribute's sample in every class."""
        return list(map(sample_size, self.released_sizes(attribute)))

    def pooled_size(self, attribute: Numeric) -> int:
        """Return the public size of an attribute's sample of all classes together."""
        return sample_size(positive_sum(self.released_sizes(attribute)))


class Mechanism(Protocol):
    """A way to ask the statistics, and to draw noisy answers. Recipes make a model of these (``model.recipes``).

    Claim of a private mechanism: ``classes`` and ``attributes`` together spend what the shares of its ``requests``, and
    that of the weighted counts, say and no more, under the add-remove relation, each share's ``row_cost`` being the
    loss of its query.
    """

    name: str
    """Name on the command line and in the model."""
    summary: str
    """One line for the command line's help."""
    private: bool
    """Whether a model made by it carries a guarantee."""
    smooth: bool
    """Whether it draws noise for smooth sensitivity, so that a noise family may be chosen."""
    binned: bool
    """Whether its models hold numeric attributes as histograms."""
    default_noise: str
    """Noise family for smooth sensitivity where none is chosen."""
    division: Division
    """Division of the budget among attributes by their kind, and class counts, where none is chosen."""
    shares_rule: SharesRule
    """How the part of all attributes is divided among them where that is not chosen."""

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the queries, the class counts first."""

    def classes(self, drawing: Drawing) -> None:
        """Measure what is asked before any attribute: classes, sums of weights where rows have some, values present."""

    def attributes(self, drawing: Drawing) -> None:
        """Measure every attribute that the mechanism models."""


def draw_tables(
    statistics: Statistics, mechanism: Mechanism, shares: Sequence[Share], released: Domain, sampler: Sampler
) -> tuple[Measurement, ...]:
    """Draw all that a mechanism releases of the statistics of a domain: the trust boundary of the first pass.

    The statistics are confidential; only exact draws from the operating system's generator give a guarantee.
    """
    drawing = Drawing(statistics, {(share.query, share.attribute): share for share in shares}, sampler)
    mechanism.classes(drawing)
    mechanism.attributes(drawing.only(released))
    return tuple(drawing.measured.values())


# Queries that the private mechanisms share: noisy class counts and contingency tables (docs/privacy.md, section 2).
# Released counts are exact counts with noise, rounded to whole numbers.


def constant(share: Share) -> bool:
    """Say whether a share's noise is admissible only for a sensitivity that is a public constant."""
    return share.noise == LAPLACE and isinstance(share.row_cost, Pure)


def constant_noise(share: Share) -> NoiseFamily:
    """Calibrate the noise of numbers whose sensitivity is a public constant to the share's loss for one row.

    A constant is its own smooth sensitivity for every beta, so families for smooth sensitivity are admissible as well.
    """
    if constant(share):
        assert isinstance(share.row_cost, Pure)
        return Laplace(share.row_cost.epsilon)
    return smooth_noise(share.noise, share.row_cost)


def public_scales(noise: NoiseFamily, sensitivities: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the scale of the noise for each of some public sensitivities; None for a family without one."""
    scale: Fraction | None = getattr(noise, "scale", None)
    return None if scale is None else [scale * sensitivity for sensitivity in sensitivities]


def noisy_counts(
    counts: Iterable[int], share: Share, draw: Sampler, sensitivity: Fraction = SENSITIVITY
) -> Iterator[int]:
    """Add noise to counts, as ``Drawing.counts`` says, and bound them by what a file holds."""
    noise = constant_noise(share)
    return (within_largest(int(draw(Fraction(int(count)), sensitivity, noise))) for count in counts)


class PrivateCounts:
    """Base of the private mechanisms: noisy class counts, weighted or not, and the numbers of values present."""

    private = True
    binned = False
    default_noise = NOISE_FAMILIES[0]
    shares_rule = SharesRule.BY_SIZE

    def classes(self, drawing: Drawing) -> None:
        """Measure class counts, sums of weights where the domain declares some, and values present, in this order."""
        statistics = drawing.statistics
        drawing.counts(CLASS_COUNTS, None, rows_of(statistics.class_counts))
        if statistics.domain.weight is not None:
            sums, steps = weight_sums(statistics)
            drawing.counts(WEIGHTED_COUNTS, None, rows_of(sums), Fraction(steps))
        for attribute in statistics.domain.numeric:
            if (PRESENCE, attribute.name) in drawing.shares:
                drawing.counts(PRESENCE, attribute.name, presence_counts(statistics, attribute))


def rows_of(numbers: Iterable[int]) -> tuple[tuple[int], ...]:
    """Write one number per class as rows."""
    return tuple((int(number),) for number in numbers)


def weight_sums(statistics: Statistics) -> tuple[list[int], int]:
    """Return the sums of weights per class, confidential, and the most that one row adds, public; both in steps."""
    declared, sums = statistics.domain.weight, statistics.weight_sums
    assert declared is not None
    assert sums is not None
    return [int(each) for each in sums], declared.steps


def class_counts_request(domain: Domain, division: Division, noise: str = LAPLACE) -> Request:
    """Make the query for the number of rows of each class, the first of every mechanism."""
    return Request(CLASS_COUNTS, None, len(domain.classes), PARALLEL_CELLS, noise, division.counts)


def weighted_counts_request(domain: Domain, class_counts: Request) -> Request:
    """Make the query for the sums of each class (``Domain.weight``): one share, with the noise of the class counts.

    A row adds from 0 to the cap, so a row that is replaced by one of its class moves one sum, by the difference of two
    such numbers: at most the cap, once.
    """
    assert domain.weight is not None
    reason = f"one row changes one of these sums by at most {number_text(domain.weight.cap)}"
    return replace(class_counts, query=WEIGHTED_COUNTS, parallel=Parallel(reason, RowEffect.ONE_DRAW))


def counts_request(attribute: str, domain: Domain, cells: int, weight: Fraction) -> Request:
    """Make the query for an attribute's table of ``cells`` counts within each class."""
    return Request(COUNTS, attribute, len(domain.classes) * cells, PARALLEL_CELLS, LAPLACE, weight)


def categorical_requests(domain: Domain, weight: Fraction) -> list[Request]:
    """Make the query for one contingency table per categorical attribute."""
    return [counts_request(attribute.name, domain, attribute.size, weight) for attribute in domain.categorical]


def moment_requests(
    domain: Domain, queries: Sequence[str], weight: Fraction, noise: str = LAPLACE, kind: type[PrivacyCost] = Pure
) -> list[Request]:
    """Make the queries for moments of each numeric attribute within every class, which divide its weight evenly."""
    return [
        Request(query, attribute.name, len(domain.classes), PARALLEL_CLASSES, noise, weight / len(queries), kind)
        for attribute in domain.numeric
        for query in queries
    ]


def measure_table(drawing: Drawing, attribute: Categorical) -> None:
    """Measure the contingency table of a categorical attribute with the classes: every cell, empty or not."""
    drawing.counts(COUNTS, attribute.name, drawing.statistics.tables[attribute.name])


def presence_requests(domain: Domain, division: Division, *, samples: bool = True) -> list[Request]:
    """Make the query for how many values numeric attributes have, per attribute that declares it.

    Of an attribute that rows without a value merely skip, only samples of public size need the number of its values.
    """
    columns = {Missing.CATEGORY: 2} | ({Missing.SKIP: 1} if samples else {})
    return [
        Request(
            PRESENCE, each.name, len(domain.classes) * columns[each.missing], PARALLEL_CELLS, LAPLACE, division.counts
        )
        for each in domain.numeric
        if each.missing in columns
    ]


def presence_counts(statistics: Statistics, attribute: Numeric) -> list[list[int]]:
    """Count, per class, the rows with a value and, where to be missing is a category, those without. Confidential."""
    columns = statistics.columns[attribute.name]
    counts = [
        [column.size, int(rows) - column.size] for column, rows in zip(columns, statistics.class_counts, strict=True)
    ]
    return counts if attribute.missing is Missing.CATEGORY else [[present] for present, _ in counts]


def on_scale(attribute: Numeric, column: RunLengthColumn) -> RunLengthColumn:
    """Carry a column of grid codes to codes of the attribute's scale. Confidential in, confidential out."""
    if attribute.transform is Transform.IDENTITY:
        return column
    distinct, first = np.unique(scale_codes(attribute, column.codes), return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)


def pooled(columns: Sequence[RunLengthColumn]) -> RunLengthColumn:
    """Merge the columns of all classes, for a sample of ``pooled_size``.

    One row more or less is at most one value more or less of the merged column. A replaced row is one replaced, added
    or removed value, since either row may lack it (docs/privacy.md, Lemma 2.6). Confidential in, confidential out.
    """
    codes, places = np.unique(np.concatenate([column.codes for column in columns]), return_inverse=True)
    counts = np.zeros(len(codes), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([column.counts for column in columns]))
    return RunLengthColumn(codes, counts)
