"""A model as one table of terms, which a short script in another language reads to score rows as ``predict`` does.

The table has blocks of ``cells``: the prior, one block per attribute, and the calibration line. A cell has one row per
class, and one whose class is empty: what the cell adds to the number of skipped attributes. Of the cells of a block
that a row of data matches, the last one counts:

* ``other``: every row. The value says how the column is read: ``number``, ``text``, or ``both``, a text that may spell
  a number. It is empty in the prior, which reads no column.
* ``from``: a number that is at least the value; an empty value is below all numbers.
* ``log``: the same, and ln(1 + number) takes the number's place in the term.
* ``number``: a number that is the value; ``missing`` in the same way, a declared missing value.
* ``text``: a text that is the value.

The term is ``term``, or if there is a slope, with d the number less ``center``,

    term + (slope + curve d) d, between -limit and limit.

The line (``likelihood.LineTerms``) has a block ``others``, per class but the largest the constant (``term``) and the
part of the score (``slope``) that divide the others' probability, and a block ``line`` of cells to look up a score
difference in: per class its log-odds if it is the best of the others, and under the empty class those of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.column_kinds import category_texts
from dpnb_columnar.model.likelihood import (
    LineTerms,
    Pieces,
    bin_starts,
    cell_terms,
    class_terms,
    line_terms,
    missing_terms,
    normal_terms,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table

COLUMNS = ("attribute", "match", "value", "class", "term", "center", "slope", "curve", "limit")
"""The table's columns: four of texts, and five of numbers, of which the last four are empty without a slope."""

NO_LIMIT = 8e307
"""Above every term, and a number in all languages."""

Term = tuple[float, ...]
"""The numbers of a row of the table: one, or five."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a block.

    Attributes:
        match: Which rows of data it is for.
        value: The number or the text that ``match`` compares with.
        terms: Per class, and of the number of skipped attributes.
    """

    match: str
    value: str | float
    terms: Sequence[Term]


def blocks(model: NaiveBayes) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the blocks of the table, with the attribute that each belongs to, empty for those that read no column."""
    yield "", [_constant("other", "", class_terms(model))]
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        yield parameters.attribute, list(_cells(model.domain[parameters.attribute], parameters, weight))
    if (line := line_terms(model)) is not None:
        yield from (("", cells) for cells in _line_cells(line))


def table_lines(model: NaiveBayes) -> Iterator[str]:
    """Write the table as CSV (RFC 4180), every text quoted."""
    yield ",".join(map(_quoted, COLUMNS)) + "\r\n"
    for attribute, cells in blocks(model):
        for cell in cells:
            value = cell.value if isinstance(cell.value, str) else repr(cell.value)
            for name, term in zip((*model.domain.classes, ""), cell.terms, strict=True):
                texts = ",".join(map(_quoted, (attribute, cell.match, value, name)))
                numbers = [*map(repr, term), *[""] * (5 - len(term))]
                yield f"{texts},{','.join(numbers)}\r\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _constant(match: str, value: str | float, terms: Sequence[float], skipped: float = 0.0) -> Cell:
    return Cell(match, value, [(term + 0.0,) for term in (*terms, skipped)])


def _cells(attribute: Attribute, parameters: AttributeParameters, weight: float) -> Iterator[Cell]:
    """Yield the cells of an attribute."""
    without, skipped = missing_terms(parameters, weight), 0.0
    if isinstance(parameters, Table):
        assert isinstance(attribute, Categorical)
        rows = cell_terms(parameters, weight)
        if attribute.missing is Missing.CATEGORY:
            without = [row[len(attribute.values)] for row in rows]
    if without is None:
        classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
        without, skipped = [0.0] * classes, 1.0
    if isinstance(attribute, Numeric):
        yield _constant("other", "number", without, skipped)
        if isinstance(parameters, Normal):
            yield from _normal_cells(attribute, parameters, weight)
        elif isinstance(parameters, Histogram):
            yield from _bin_cells(attribute, parameters, weight)
        for missing in attribute.missing_values:
            yield _constant("missing", float(missing), without, skipped)
        return
    texts = list(category_texts(attribute))
    spelled = sum(number is not None for _, number, _ in texts)
    yield _constant("other", "number" if spelled == len(texts) else "both" if spelled else "text", without, skipped)
    for value, number, code in texts:
        terms = [row[code] for row in rows]
        yield _constant("text", value, terms) if number is None else _constant("number", number, terms)


def _bin_cells(attribute: Numeric, parameters: Histogram, weight: float) -> Iterator[Cell]:
    starts = [0, *bin_starts(attribute, parameters.edges)]
    for start, terms in zip(starts, zip(*cell_terms(parameters, weight), strict=True), strict=True):
        if start <= attribute.cells:
            yield _constant("from", _first_number(attribute, start) if start else "", terms)


def _first_number(attribute: Numeric, code: int) -> float:
    """Find the smallest float whose grid code, computed as ``row_rules.grid_code`` does, reaches a code from 1 on."""
    lower, upper, step = map(float, (attribute.lower, attribute.upper, attribute.step))
    middle = lower + (code - 0.5) * step
    below, reached = max(lower, middle - step), min(upper, middle + step)
    while below < (middle := below + (reached - below) / 2) < reached:
        if math.floor((middle - lower) / step + 0.5) >= code:
            reached = middle
        else:
            below = middle
    return reached


def _normal_cells(attribute: Numeric, parameters: Normal, weight: float) -> Iterator[Cell]:
    """Yield the cells of a normal attribute: a constant beyond each bound, between them the formula of its terms.

    The square is written around the mean of the narrower class, where its terms are small numbers.
    """
    scale, terms = attribute.scale, normal_terms(attribute, parameters, weight)
    own, half = terms.reference, Fraction(terms.weight) / 2
    precision = [1 / Fraction(deviation) ** 2 for deviation in parameters.deviation]
    limit = NO_LIMIT if terms.most is None else terms.most
    formulas: list[Term] = []
    ends: tuple[list[float], list[float]] = ([], [])
    for place, constant in enumerate(terms.constant):
        center = terms.mean[place if precision[place] >= precision[own] else own]
        far, near = (Fraction(center) - Fraction(terms.mean[each]) for each in (own, place))
        formula = (
            half * (far**2 * precision[own] - near**2 * precision[place]) + Fraction(constant),
            Fraction(center),
            2 * half * (far * precision[own] - near * precision[place]),
            half * (precision[own] - precision[place]),
        )
        term, middle, slope, curve = map(float, formula)
        formulas.append((0.0,) if place == own else (term, middle, slope, curve, limit))
        for constants, end in zip(ends, (scale.origin, scale.end), strict=True):
            distance = end - middle
            constants.append(min(limit, max(-limit, term + (slope + curve * distance) * distance)))
    match = "log" if attribute.transform is Transform.LOG1P else "from"
    yield _constant("from", "", ends[0])
    yield Cell(match, float(attribute.lower), [*formulas, (0.0,)])
    yield _constant("from", float(attribute.upper), ends[1])


def _line_cells(line: LineTerms) -> Iterator[list[Cell]]:
    constants = dict(zip(line.others, line.constants, strict=True))
    classes = range(len(constants) + 1)
    shares = [
        (constants[klass], 0.0, line.evidence, 0.0, NO_LIMIT) if klass in constants else (0.0,) for klass in classes
    ]
    yield [Cell("others", "", [*shares, (0.0,)])]
    rest = _pieces(line.rest) if line.rest else [(0.0,)] * (len(line.odds.starts) + 1)
    starts: list[str | float] = ["", *line.odds.starts]
    yield [
        Cell("line", start, [*(odds if klass in constants else (0.0,) for klass in classes), others])
        for start, odds, others in zip(starts, _pieces(line.odds), rest, strict=True)
    ]


def _pieces(pieces: Pieces) -> list[Term]:
    return [
        (value, origin, slope, 0.0, NO_LIMIT) if slope else (value,)
        for origin, value, slope in zip(pieces.origins, pieces.values, pieces.slopes, strict=True)
    ]
