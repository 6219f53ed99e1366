"""What labels mean. Labels are such as IPUMS and the Census Bureau use."""

from __future__ import annotations

import pytest

from dpnb_columnar.extracts.codebooks.codebook import Code, Meaning, meaning_of

NOT_IN_UNIVERSE = [
    *("NIU", "N.I.U. (Not in Universe).", "NIU (Not in universe)", "Not in universe", "N/A", "N/A (Group quarters)"),
    *(
        "N/A (less than 16 years old/NILF who last worked more than 5 years ago or never worked)",
        "N.A.",
        "N/A or blank",
    ),
    *(
        *("NA (non-group quarters households)", "Not Applicable", "  N/A", "Not eligible - Born in the US"),
        *("Inapplicable", "N/A (or None, 1980)"),
    ),
]
UNKNOWN = [
    *("Missing", "Missing.", "Unknown", "Missing/blank", "Unknown/illegible", "Unknown or illegible", "Illegible"),
    *("Blank", "Not reported", "Industry not reported", "Refused", "Don't know", "Don’t know", "No response"),
    *("State not identified", "Not ascertained", "Period of service not ascertained", "Veteran status unknown"),
    *("Blank or blank equivalent", "HHTYPE could not be determined"),
    *("Suppressed for data year 2018 for select PUMAs", "Nonclassifiable", "Unknown (1850-1880)"),
    *("Occupation missing/unknown", "Missing data", "MISSING", "Not identifiable"),
]
VALUES = [
    *("", "Male", "1", "Under 1 year", "N/A or no schooling", "No subfamilies or N/A (GQ/vacant unit)"),
    *("0 couples or N/A", "Naturalized citizen", "NABISCO", "Native born, and father foreign, mother native"),
    *("National", "Foreign born, citizenship status not reported", "Private, unknown", "Fragment or Unknown"),
    *("Not Hispanic", "Two or three races, unspecified", "Abroad (unknown) or at sea"),
    *("Household not in missing data enumeration district", "In a metro area, central city status unknown"),
    *("Moved (place not reported)", "Other and unspecified languages", "Not a citizen", "Not in labor force"),
    *("No, not in school", "Unknown soldier", "Not yet classified", "/", "()"),
]


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        *((label, Meaning.NOT_IN_UNIVERSE) for label in NOT_IN_UNIVERSE),
        *((label, Meaning.UNKNOWN) for label in UNKNOWN),
        *((label, Meaning.VALUE) for label in VALUES),
    ],
)
def test_meaning_of_a_label(label: str, meaning: Meaning) -> None:
    assert meaning_of(Code("9", label)) is meaning
