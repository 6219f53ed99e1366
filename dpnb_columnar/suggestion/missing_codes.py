"""Which numbers look like codes for "missing": 9, 99, 999 and the two before each."""

from __future__ import annotations

from collections.abc import Sequence

FAR = 2
"""A code lies at least this many times above the largest ordinary number."""


def nines(largest: object) -> tuple[int, ...]:
    """The codes of the largest number's length, if it is one of them: of 998, that is 997, 998 and 999."""
    if not isinstance(largest, int | float) or largest != int(largest) or largest < 97:
        return ()
    top = 10 ** len(str(int(largest))) - 1
    return (top - 2, top - 1, top) if largest >= top - 2 else ()


def likely(codes: Sequence[int], ordinary: int | float | None) -> bool:
    """Whether such codes stand so far from the ordinary numbers that they hardly are numbers themselves."""
    return bool(codes) and ordinary is not None and ordinary * FAR <= min(codes)


def stray(values: Sequence[str]) -> str | None:
    """The last of few whole numbers in order if it consists of nines and is none of a row: the 9 of 1, 2, 3, 9."""
    last = values[-1]
    if len(values) < 2 or set(last) != {"9"} or not values[-2].lstrip("-").isdigit():
        return None
    return last if int(last) - int(values[-2]) > 1 else None
