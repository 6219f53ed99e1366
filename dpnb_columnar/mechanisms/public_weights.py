"""Attribute weights and shares from a public sample: what is known of the attributes before a confidential row is.

A public-use sample in the same domain says how much each attribute tells beside the others. Its weights are public
facts, and so is the division of the budget by them: neither costs anything (docs/privacy.md, Lemma 7.2).

An attribute of K_i cells whose counts have noise of scale 1/e_i has a log-ratio with an error whose variance grows with
K_i / e_i^2, and w_i times that error enters the score. Of all divisions of one sum of e_i, the sum of w_i^2 K_i / e_i^2
is least where e_i is in proportion to (w_i^2 K_i)^(1/3). An attribute of hardly any weight is not released at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.budget import Request
from dpnb_columnar.domain import Attribute, Categorical, Domain
from dpnb_columnar.domain.editing import select_attributes
from dpnb_columnar.mechanisms.mechanism import PRESENCE
from dpnb_columnar.model.mechanism_rules import PUBLIC as PUBLIC
from dpnb_columnar.model.parameters import AttributeWeights, PublicSource
from dpnb_columnar.model.tuning import MOST_BINS

LEAST_WEIGHT = 0.15
"""Attributes of a smaller weight get no share."""

PARTS = 1000
"""Shares are in whole parts, so that they have few digits."""


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

    def divided(self, requests: Sequence[Request], domain: Domain) -> list[Request]:
        """Divide anew what the tables and moments of all attributes are given together; other queries keep theirs."""
        sums = {
            name: sum((each.weight for each in requests if _is_table(each, name)), Fraction(0)) for name in self.weights
        }
        wanted = {name: _cube_root_share(domain[name], weight) for name, weight in self.weights.items()}
        whole, all_wanted = sum(sums.values(), Fraction(0)), sum(wanted.values())
        parts = {name: Fraction(max(round(PARTS * size / all_wanted), 1), PARTS) for name, size in wanted.items()}
        return [
            replace(each, weight=each.weight / sums[each.attribute] * parts[each.attribute] * whole)
            if each.attribute is not None and _is_table(each, each.attribute)
            else each
            for each in requests
        ]


def _only(domain: Domain, names: Collection[str]) -> Domain:
    """Leave out the other attributes of a domain."""
    kept = select_attributes(domain, [each.name for each in domain.attributes if each.name in names], ())
    assert isinstance(kept, Domain)
    return kept


def _is_table(request: Request, attribute: str) -> bool:
    return request.attribute == attribute and request.query != PRESENCE


def _cube_root_share(attribute: Attribute, weight: float) -> float:
    """Compute (w^2 K)^(1/3); a numeric attribute has as many cells as a histogram of it may have bins."""
    cells = attribute.size if isinstance(attribute, Categorical) else min(attribute.scale.cells + 1, MOST_BINS)
    # Fitted again without the attributes that are left out, a weight may be smaller.
    return float((max(weight, LEAST_WEIGHT) ** 2 * cells) ** (1 / 3))
