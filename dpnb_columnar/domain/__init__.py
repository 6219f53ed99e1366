"""Public facts, declared before the data is opened. Imports nothing of the private side."""

from dpnb_columnar.domain.attributes import Attribute, Categorical, Domain, Label, Missing, Numeric, Scale, Transform
from dpnb_columnar.domain.declaration import digest, document_of, read_domain

__all__ = [
    "Attribute",
    "Categorical",
    "Domain",
    "Label",
    "Missing",
    "Numeric",
    "Scale",
    "Transform",
    "digest",
    "document_of",
    "read_domain",
]
