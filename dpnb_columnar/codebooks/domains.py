"""From a codebook to a domain: what may serve as an attribute, and how it is declared. No row is looked at."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpnb_columnar.codebooks.amounts import amount, spells_numbers
from dpnb_columnar.codebooks.categories import category
from dpnb_columnar.codebooks.codebook import Codebook, Form, Measure, Variable
from dpnb_columnar.codebooks.facts import amount_fact, technical_reason
from dpnb_columnar.domain.attributes import Attribute
from dpnb_columnar.domain.unlabelled import UnlabelledDomain
from dpnb_columnar.errors import UsageError, shown


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A variable that is no attribute.

    Attributes:
        name: Its name.
        reason: Why, in words that continue "left out:".
    """

    name: str
    reason: str


def domain_of(codebook: Codebook, columns: Sequence[str] | None = None) -> tuple[UnlabelledDomain, tuple[LeftOut, ...]]:
    """The domain that a codebook declares, its label still to be chosen, and what is left out of it.

    Each variable takes the first of these that fits:

    1. Identifiers, weights, flags and other technical variables (``facts/technical.toml``) are left out.
    2. Numbers that are continuous, or whose list of codes spells numbers (ages, counts), are numeric: see ``amount``.
    3. Variables with a list of codes are categorical: see ``category``.
    4. What remains is left out: text and names that the codebook does not list.

    Args:
        codebook: What is known of the extract.
        columns: Variables to look at, in the order wanted; all of them in the codebook's order, where None.

    Raises:
        UsageError: A column is none of the codebook's.
    """
    known: dict[str, Variable] = {}
    for variable in codebook.variables:  # one that stands on several record types appears once for each
        known.setdefault(variable.name, variable)
    attributes: list[Attribute] = []
    left_out = []
    for name in known if columns is None else dict.fromkeys(columns):
        if name not in known:
            raise _unknown(name, known, codebook.source)
        made = _made_of(known[name], codebook.collection)
        if isinstance(made, str):
            left_out.append(LeftOut(name, made))
        else:
            attributes.append(made)
    return UnlabelledDomain(codebook.name, tuple(attributes)), tuple(left_out)


def _unknown(name: str, known: Iterable[str], source: str) -> UsageError:
    """The error for a column that no variable has; names differ by case alone more often than not."""
    by_case = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_case, n=1)
    hint = f"did you mean {by_case[close[0]]}?" if close else "choose among the variables it describes"
    return UsageError(f"{source}: the codebook has no variable {shown(name)}; {hint}")


def _made_of(variable: Variable, collection: str) -> Attribute | str:
    """The attribute that a variable makes, or why it makes none."""
    if reason := technical_reason(variable, collection):
        return reason
    continuous = variable.measure is Measure.CONTINUOUS
    if variable.form is Form.NUMBER and (continuous or spells_numbers(variable)):
        return amount(variable, amount_fact(variable, collection))
    if variable.codes:
        return category(variable)
    if variable.form is Form.TEXT:
        return "text, and the codebook lists no codes"
    return "names, and the codebook does not list their codes"
