"""Public facts, declared before the data is opened: the types alone. Imports nothing of the private side."""

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Numeric, Scale, Transform
from dpnb_columnar.domain.declared_domain import Declaration, Domain, Label, Unit, UnlabelledDomain, Weight

__all__ = [
    "Attribute",
    "Categorical",
    "Declaration",
    "Domain",
    "Group",
    "Label",
    "Missing",
    "Numeric",
    "Scale",
    "Transform",
    "Unit",
    "UnlabelledDomain",
    "Weight",
]
