"""A domain whose label is still to be chosen: what a codebook can say about an extract."""

from __future__ import annotations

from dataclasses import dataclass

from dpnb_columnar.domain.attributes import Attribute


@dataclass(frozen=True)
class UnlabelledDomain:
    """Attributes, declared before anyone has said which of them is to be predicted.

    Attributes:
        name: Name of the data set.
        attributes: Every column that may serve as an attribute or as the label, in order.
    """

    name: str
    attributes: tuple[Attribute, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the domain declares."""
        return tuple(attribute.name for attribute in self.attributes)
