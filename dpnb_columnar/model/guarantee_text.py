"""A guarantee in words, for people: what is promised, about which rows, and about whom."""

from __future__ import annotations

from dpnb_columnar.core.budget import Neighbours
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.domain.domain_text import counts_by, linked_text, of_whom
from dpnb_columnar.domain.names import number_text

RELATIONS = {
    Neighbours.ADD_REMOVE: "one row added or removed",
    Neighbours.REPLACE_ONE: "one row changed, its class included",
}

UNIT_RELATIONS = {
    Neighbours.ADD_REMOVE: "added or removed",
    Neighbours.REPLACE_ONE: "changed in any of its rows, or replaced by another",
}


SCOPE = (
    "The promise is for rows of the finished file: values imputed from a donor and weights raked to totals carry one "
    "person's answers into other rows, which it does not cover for that person.",
    "A person in linked years or a panel has several rows, and is covered as a whole only where a unit is declared "
    "that holds them all.",
)
"""What any guarantee is about: said by ``plan``, the release sheet and the pages."""


def scope(domain: Domain) -> tuple[str, ...]:
    """Say what a guarantee for rows of a domain is about: ``SCOPE``, or answers where allocated values are null.

    Under a unit it is said of which rows the numbers are, as well; of linked samples, how many rows a person may have.
    """
    persons = () if domain.unit is None else (persons_text(domain),)
    linked, person = SCOPE[1], domain.available_person
    if person is not None and (domain.unit is None or domain.unit.columns != person.columns):
        linked = f"{linked_text(person)}."
    if domain.provenance is None or not domain.provenance.allocated:
        return (SCOPE[0], linked, *persons)
    return (
        "Allocated values do not count, so far as the publisher's flags tell them. So the promise is one for what "
        "respondents answered there; other values imputed from a donor, and weights raked to totals, carry one "
        "person's answers into other rows, which it does not cover for that person.",
        linked,
        *persons,
    )


def persons_text(domain: Domain) -> str:
    """Say in a sentence which persons the numbers of a release under a unit are of."""
    assert domain.unit is not None
    return f"The prior and released scores are of {of_whom(domain.unit, domain.weight)}."


def drawn_from(domain: Domain) -> str:
    """Say of which rows the intervals of released scores are."""
    rows = "the population that the rows were drawn from"
    return rows if domain.unit is None else f"{rows}, of which they are {of_whom(domain.unit, domain.weight)}"


def relation_text(neighbours: Neighbours, unit: Unit | None) -> str:
    """Say what neighbours differ in: one row, or one whole unit."""
    if unit is None:
        return RELATIONS[neighbours]
    return f"one whole unit ({counts_by(unit)}) {UNIT_RELATIONS[neighbours]}"


def statement(guarantee: Guarantee) -> str:
    """State what the model promises about any one row, or any one unit, in one or two sentences."""
    if guarantee.epsilon is None or guarantee.neighbours is None:
        return (
            f"NO GUARANTEE: mechanism {guarantee.mechanism} protects nobody. "
            "Keep this model as confidential as the rows."
        )
    if guarantee.seeded:
        return "NO GUARANTEE: the noise came from a seed and can be subtracted. For tests only."
    noise = f", noise {guarantee.noise}" if guarantee.noise else ""
    epsilon = number_text(guarantee.epsilon)
    amount, exception = epsilon, ""
    if guarantee.delta:
        delta = number_text(guarantee.delta)
        amount, exception = f"({epsilon}, {delta})", f", a probability of {delta} aside"
    accounting = "" if guarantee.rho is None else f" Accounted as {number_text(guarantee.rho)}-zCDP, which implies it."
    relation = relation_text(guarantee.neighbours, guarantee.unit)
    return (
        f"{amount}-differentially private for {relation}: no such change makes any outcome more than "
        f"exp({epsilon}) times as likely{exception}. Mechanism {guarantee.mechanism}{noise}.{accounting}"
    )
