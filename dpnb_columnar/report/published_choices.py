"""What other bodies have published about the strength of their guarantees. Public, each with its source.

Figures are as published: none is converted or added up here. Those of the Privacy Deployments Registry were read in
its data (github.com/opendp/deployments-registry-data).
"""

from __future__ import annotations

from typing import NamedTuple


class PublishedChoice(NamedTuple):
    """A published guarantee.

    Attributes:
        body: Who released.
        product: What, and when.
        protects: What its amounts are for.
        amounts: Epsilon, delta and rho, as published.
        source: Where that is published.
    """

    body: str
    product: str
    protects: str
    amounts: str
    source: str


HEADER = ("who", "what", "protects", "amounts, as published", "source")

PUBLISHED_CHOICES = (
    PublishedChoice(
        "U.S. Census Bureau",
        "2020 Census redistricting data (2021)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 2.56, epsilon 17.14 at delta 1e-10; housing units: rho 0.07, epsilon 2.47 at delta 1e-10",
        "Privacy Deployments Registry; Abowd et al. 2022, arXiv:2204.08986",
    ),
    PublishedChoice(
        "U.S. Census Bureau",
        "2020 Census Demographic and Housing Characteristics File (2023)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 4.96, epsilon 26.34 at delta 1e-10; housing units: rho 7.70, epsilon 34.33 at delta 1e-10",
        "Privacy Deployments Registry; Cumings-Menon et al. 2023, arXiv:2312.10863",
    ),
    PublishedChoice(
        "Ministry of Health, Israel",
        "microdata of live births in 2014 (2024)",
        "one birth",
        "epsilon 9.98",
        "Hod and Canetti 2024, arXiv:2405.00267",
    ),
    PublishedChoice(
        "Wikimedia Foundation",
        "views of each page by country (2023)",
        "one device on one day",
        "rho 0.015 a day",
        "Privacy Deployments Registry; Adeleye et al. 2023, arXiv:2308.16298",
    ),
)

REMARK = (
    "Amounts compare only where unit, relation and delta are alike. That others chose them does not make them right "
    "for these persons: the choice is the signer's."
)
