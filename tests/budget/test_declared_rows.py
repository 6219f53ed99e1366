"""Delta by rule: one over the declared number of rows, exact, and never a number that was counted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dpnb_columnar.core.budget import is_rule, parse_delta, parse_rows
from dpnb_columnar.domain.catalogue import read_catalogue
from support.people import DECLARATION

import dpnb_columnar as dpnb
from dpnb_columnar import errors


@pytest.mark.parametrize(
    ("rule", "rows", "meant"),
    [
        ("1/n", 48_842, Fraction(1, 48_842)),
        (" 1/n ", 100, Fraction(1, 100)),
        ("1/n^2", 250_000, Fraction(1, 62_500_000_000)),
        ("1/n^2", 10**12, Fraction(1, 10**24)),
    ],
)
def test_a_rule_is_an_exact_number(rule: str, rows: int, meant: Fraction) -> None:
    assert is_rule(rule)
    assert parse_delta(rule, rows) == meant


@pytest.mark.parametrize("typed", ["1/48842", "1e-6", 1e-6, 0, "0"])
def test_a_number_is_no_rule_and_does_not_depend_on_rows(typed: object) -> None:
    assert not is_rule(typed)
    assert parse_delta(typed, 100) == parse_delta(typed)


@pytest.mark.parametrize("typed", ["1/n^3", "1/N", "2/n", "n", "1/ n", "1/n^"])
def test_other_rules_are_refused_with_the_known_ones(typed: str) -> None:
    with pytest.raises(errors.UsageError, match=r"^delta: .*1/n or 1/n\^2"):
        parse_delta(typed, 1000)


@pytest.mark.parametrize("rows", [99, 0, -5, 10**12 + 1, True, 1000.0, "1000", Fraction(1000)])
def test_rows_out_of_range_are_refused(rows: Any) -> None:
    with pytest.raises(errors.UsageError, match=r"^declared rows: "):
        parse_rows(rows)


def test_rows_are_whole_numbers_of_any_kind() -> None:
    found = parse_rows(np.int32(1000))
    assert (found, type(found)) == (1000, int)
    assert [parse_rows(rows) for rows in (100, 10**12)] == [100, 10**12]


@pytest.mark.parametrize(("rule", "meant"), [("1/n", Fraction(1, 250_000)), ("1/n^2", Fraction(1, 250_000**2))])
def test_the_model_holds_the_number(rule: str, meant: Fraction, people_file: Path) -> None:
    options = {"epsilon": 1, "delta": rule, "rows": 250_000, "mechanism": "smooth", "noise": "gaussian"}
    released = dpnb.release(dpnb.aggregate(people_file), **options).guarantee
    trained = dpnb.train(people_file, **options, attribute_weights="none").guarantee
    assert trained.delta == released.delta == meant
    assert trained.composition == released.composition


def test_rows_without_a_rule_and_a_rule_without_rows_are_refused(people_file: Path) -> None:
    with pytest.raises(errors.UsageError, match="leave rows out"):
        dpnb.train(people_file, epsilon=1, rows=1000, mechanism="smooth", attribute_weights="none")
    named = {"mechanism": "smooth", "noise": "gaussian", "attribute_weights": "none"}
    with pytest.raises(errors.UsageError, match="leave rows out"):
        dpnb.release(dpnb.aggregate(people_file), epsilon=1, delta="1e-6", rows=1000, **named)
    with pytest.raises(errors.UsageError, match=r"never counted; give the public one, .* with rows, or"):
        dpnb.train(people_file, epsilon=1, delta="1/n", noise="gaussian")
    with pytest.raises(errors.UsageError, match="expected 100 to 1000000000000, found 12"):
        dpnb.train(people_file, epsilon=1, delta="1/n", noise="gaussian", rows=12)


def test_an_entry_declares_rows(tmp_path: Path) -> None:
    path = tmp_path / "datasets.toml"
    path.write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 1234\n", 1))
    (entry,) = read_catalogue(path)
    assert entry.rows == 1234
    assert entry.domain.name == "people"
    path.write_text(DECLARATION)
    assert read_catalogue(path)[0].rows is None


@pytest.mark.parametrize("rows", ["0.5", '"1000"', "true", "[]"])
def test_an_entry_declares_a_whole_number(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "datasets.toml"
    path.write_text(DECLARATION.replace("[people]\n", f"[people]\nrows = {rows}\n", 1))
    with pytest.raises(errors.ConfigurationError, match=r"people\.rows: expected a whole number"):
        _ = read_catalogue(path)[0].rows
