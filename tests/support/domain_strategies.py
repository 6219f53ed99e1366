"""Random domains, with a label or without, with groups and with every key."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

from dpnb_columnar.domain import (
    Categorical,
    Declaration,
    Domain,
    Group,
    Label,
    Missing,
    Numeric,
    Transform,
    Unit,
    UnlabelledDomain,
    Weight,
)
from dpnb_columnar.domain.attributes import RANGE, expand_member, in_order
from dpnb_columnar.domain.declared_domain import MOST_WEIGHT_STEPS
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.names import identity

PRINTABLE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
NAMES = st.text(PRINTABLE, min_size=1, max_size=12)
TEXTS = st.text(PRINTABLE, max_size=8)
FRACTIONS = st.fractions(-1000, 1000, max_denominator=10**6) | st.decimals(-1000, 1000, places=3).map(Fraction)


@st.composite
def numerics(draw: st.DrawFn, name: str) -> Numeric:
    lower = draw(FRACTIONS)
    step = abs(draw(FRACTIONS.filter(bool)))
    upper = lower + step * draw(st.integers(1, 2**32))
    assume(max(abs(lower), abs(upper)) < step * 2**53)
    transform = draw(st.sampled_from(Transform)) if lower >= 0 else Transform.IDENTITY
    return Numeric(name, lower, upper, step, transform, tuple(draw(st.lists(FRACTIONS, max_size=3))))


@st.composite
def categoricals(draw: st.DrawFn, name: str) -> Categorical:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=8, unique_by=identity))
    cut = draw(st.integers(1, len(texts)))
    values, missing_values = tuple(texts[:cut]), tuple(texts[cut:])
    return Categorical(name, values, draw(st.sampled_from(Missing)), missing_values, draw(groups(values, texts)))


@st.composite
def groups(draw: st.DrawFn, values: Sequence[str], taken: Sequence[str]) -> tuple[Group, ...]:
    """Groups of some of the values; they have no member in common, with each other or with ``taken``."""
    merged = [value for value in values if draw(st.booleans())]
    known = set(map(identity, taken))
    member = TEXTS.filter(lambda text: RANGE.fullmatch(text) is None and identity(text) not in known)
    free = draw(st.lists(member, min_size=len(merged), max_size=len(merged) + 5, unique_by=identity))
    start, found = 10**6, []
    for place, value in enumerate(merged):
        members = free[place :: len(merged)] + [value] * draw(st.booleans())
        for _ in range(draw(st.integers(0, 2))):
            size = draw(st.integers(1, 30))
            members += expand_member(f"{start}-{start + size}", 100)
            start += size + draw(st.integers(1, 9))
        if RANGE.fullmatch(value) is None:
            found.append(Group(value, in_order(members)))
    return tuple(found)


@st.composite
def labels(draw: st.DrawFn, columns: list[str]) -> Label:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=6, unique_by=identity))
    if draw(st.booleans()):
        quoted = [column.replace('"', '""') for column in columns]
        condition = " OR ".join(f'"{column}" > {draw(st.integers(0, 99))}' for column in quoted)
        return Label(tuple(texts[:2]), None, parse_condition(condition), tuple(texts[2:]))
    cut = draw(st.integers(2, len(texts)))
    classes = tuple(texts[:cut])
    return Label(classes, columns[0], None, tuple(texts[cut:]), draw(groups(classes, texts)))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    columns = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    cut = draw(st.integers(1, len(columns) - 1))
    attributes = tuple(draw(numerics(name) | categoricals(name)) for name in columns[cut:])
    unit, available = draw(unit_pairs(columns))
    weight = draw(weights([*columns, *(() if unit is None else unit.columns)]))
    return Domain(
        draw(NAMES), draw(labels(columns[:cut])), attributes, unit=unit, available_unit=available, weight=weight
    )


@st.composite
def unlabelled(draw: st.DrawFn) -> UnlabelledDomain:
    columns = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    attributes = tuple(draw(numerics(name) | categoricals(name)) for name in columns)
    unit, available = draw(unit_pairs(columns))
    weight = draw(weights([*columns, *(() if unit is None else unit.columns)]))
    return UnlabelledDomain(draw(NAMES), attributes, unit=unit, available_unit=available, weight=weight)


@st.composite
def unit_pairs(draw: st.DrawFn, taken: Sequence[str]) -> tuple[Unit | None, tuple[str, ...]]:
    """A unit that is counted by, or none; and the columns of one that is there, or none."""
    free = st.lists(NAMES.filter(lambda name: name not in taken), min_size=1, max_size=3, unique=True).map(tuple)
    return draw(st.none() | st.builds(Unit, free, st.integers(1, 1000))), draw(st.just(()) | free)


@st.composite
def weights(draw: st.DrawFn, taken: Sequence[str]) -> Weight | None:
    if draw(st.booleans()):
        return None
    step, steps = abs(draw(FRACTIONS.filter(bool))), draw(st.integers(1, MOST_WEIGHT_STEPS))
    missing = step * draw(st.integers(0, steps))
    return Weight(draw(NAMES.filter(lambda name: name not in taken)), step * steps, step, missing)


def declarations() -> st.SearchStrategy[Declaration]:
    return domains() | unlabelled()
