"""What is printed and recorded of a database's address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("postgresql://curator@db.example:5433/census", "postgresql://db.example:5433/census"),
        ("postgres://db/census", "postgres://db/census"),
        ("postgresql:///census?host=/run/postgresql&port=5433", "postgresql:///census?host=/run/postgresql&port=5433"),
        ("postgresql://db/census?user=curator&sslmode=require", "postgresql://db/census"),
        ("postgresql://?service=census", "postgresql://?service=census"),
        ("postgresql://cur%3Aator@db/census", "postgresql://db/census"),
        ("census.duckdb", "census.duckdb"),
        ("duckdb:census", "census"),
    ],
)
def test_addresses_are_told_without_user_information(typed: str, told: str) -> None:
    database = parse_database(typed)
    assert (str(database), database.name) == (told, told)
    assert database.address == typed.removeprefix("duckdb:")


@given(st.text(), st.text(), st.text())
def test_whatever_stands_between_a_colon_and_an_at_sign_is_refused(user: str, password: str, place: str) -> None:
    with pytest.raises(UsageError, match="PGPASSWORD") as refused:
        parse_database(f"postgresql://{user}:{password}@{place}")
    assert f":{password}@" not in str(refused.value) or not password
