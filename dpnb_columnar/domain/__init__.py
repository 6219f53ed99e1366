"""Public facts, declared before the data is opened. Imports nothing of the private side."""

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Numeric, Scale, Transform
from dpnb_columnar.domain.declaration import digest, document_of, read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import Declaration, Domain, Label, Unit, UnlabelledDomain, Weight
from dpnb_columnar.domain.editing import labelled

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
    "digest",
    "document_of",
    "labelled",
    "read_declaration",
    "read_domain",
]
