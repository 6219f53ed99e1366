"""Attribute weights and shares from a public sample: what is known of the attributes before a confidential row is.

A public-use sample in the same domain says how much each attribute tells beside the others. Its weights are public
facts, and so is the division of the budget by them (``attribute_shares``): neither costs anything (docs/privacy.md,
Lemma 7.2). An attribute of hardly any weight is not released at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.words import select_attributes
from dpnb_columnar.model.mechanism_rules import PUBLIC as PUBLIC
from dpnb_columnar.model.parameters import AttributeWeights, PublicSource

LEAST_WEIGHT = 0.15
"""Attributes of a smaller weight get no share."""


@dataclass(frozen=True, slots=True)
class PublicWeights:
    """What a public file says about a release. All of it is public.

    Attributes:
        source: The file.
        weights: Weight by attribute, in declared order, of those that are released.
        shift: What is added to the log-odds of the second class.
    """

    source: PublicSource
    weights: Mapping[str, float]
    shift: float

    def counted(self, domain: Domain) -> Domain:
        """Return the domain of the attributes that are released, or that decide which rows count."""
        return _only(domain, {*self.weights, *(each.name for each in domain.row_dropping)})

    def released(self, domain: Domain) -> Domain:
        """Return the domain of the attributes that are released."""
        return _only(domain, self.weights)

    @property
    def attribute_weights(self) -> AttributeWeights:
        """The weights as a model holds them."""
        return AttributeWeights(PUBLIC, tuple(self.weights.values()), (0.0, self.shift), self.source)

    @property
    def shares_by(self) -> Mapping[str, float]:
        """The weights that shares go by: fitted again without the attributes that are left out, one may be smaller."""
        return {name: max(weight, LEAST_WEIGHT) for name, weight in self.weights.items()}


def _only(domain: Domain, names: Collection[str]) -> Domain:
    """Leave out the other attributes of a domain."""
    kept = select_attributes(domain, [each.name for each in domain.attributes if each.name in names])
    assert isinstance(kept, Domain)
    return kept
