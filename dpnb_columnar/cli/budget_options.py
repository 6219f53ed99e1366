"""What the options of a budget stand for, typed or declared beside the domain, and the lines that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_division, parse_epsilon, parse_rows
from dpnb_columnar.budget.amounts import DEFAULT_EPSILON, DeclaredRowCount
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain


def shares_typed(shares: str | None, former: str | None) -> str | None:
    """Return the value of --shares, or the one that stands under its former name.

    Raises:
        UsageError: if both are given, or the former name has the value of another option.
    """
    if former is not None and ":" not in former:
        raise UsageError("--weights is the former name of --shares; name a column of weights with --weight")
    if shares is not None and former is not None:
        raise UsageError("--weights is the former name of --shares; give --shares alone")
    return former if shares is None else shares


def parse_budget(
    epsilon: str, delta: str, neighbours: Neighbours, shares: str | None, rows: DeclaredRowCount | None
) -> Budget:
    """Parse the options of a privacy budget.

    Args:
        epsilon: Value of --epsilon.
        delta: Value of --delta, perhaps a rule.
        neighbours: Neighbouring relation.
        shares: Value of --shares; None for the mechanism's own.
        rows: The n of a rule for delta; None if there is none.

    Raises:
        UsageError: if an option is out of range, or if a rule has no n.
    """
    division = None if shares is None else parse_division(shares)
    return Budget(parse_epsilon(epsilon), neighbours, division, parse_delta(delta, None if rows is None else rows.rows))


def entry_defaults(resolved: ResolvedDomain, rows: DeclaredRowCount | None) -> dict[str, tuple[object, str]]:
    """Return value and origin of the options, by option, that the domain's entry sets unless they are typed."""
    entry = str(resolved.entry)
    values: dict[str, tuple[object, str]] = {"--account": (resolved.domain.name, resolved.origin)}
    values["--epsilon"] = (
        (DEFAULT_EPSILON, "default") if resolved.epsilon is None else (number_text(resolved.epsilon), entry)
    )
    if rows is not None:
        values["--declared-rows"] = (rows.rows, rows.origin)
    return values


def declared_row_count(resolved: ResolvedDomain, typed: int | None) -> DeclaredRowCount | None:
    """Return the number of rows that was typed, else the one declared beside the domain; None if neither was.

    Raises:
        UsageError: if the typed number is out of range.
        ConfigurationError: if the declared number is out of range.
    """
    if typed is not None:
        return DeclaredRowCount(parse_rows(typed), "--declared-rows")
    if resolved.rows is None:
        return None
    try:
        return DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    except UsageError as error:
        raise ConfigurationError(f"{resolved.entry}: {error}") from None


def declared_row_count_for(
    resolved: ResolvedDomain, delta: str, attribute_weights: str, typed: int | None
) -> DeclaredRowCount | None:
    """Return the declared number of rows if a rule for delta, or the choice of attribute weights, depends on it.

    Raises:
        UsageError: if a number was typed that nothing depends on, or if it is out of range.
        ConfigurationError: if the declared number is out of range.
    """
    if is_rule(delta) or attribute_weights == "auto":
        return declared_row_count(resolved, typed)
    if typed is not None:
        raise UsageError(
            "declared rows: only a rule for delta and --attribute-weights auto depend on them; give --delta 1/n or "
            "1/n^2, or leave --declared-rows out"
        )
    return None


def print_domain(resolved: ResolvedDomain) -> None:
    """Print the name of the domain in which rows are counted, and where it is declared."""
    name = resolved.domain.name
    print_line(f"domain {name}, from {resolved.origin}", "domain", domain=name, origin=str(resolved.origin))


def rule_line(delta: str, rows: DeclaredRowCount | None) -> str | None:
    """Return one line on the n of a rule for delta, and where it is declared; None where delta is no rule."""
    return f"delta {delta.strip()}, n = {rows.rows} from {rows.origin}" if is_rule(delta) and rows is not None else None


def print_rule(delta: str, rows: DeclaredRowCount | None) -> None:
    """Print the n of a rule for delta, and where it is declared."""
    if line := rule_line(delta, rows):
        print_line(line)
