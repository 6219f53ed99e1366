"""Errors of a ledger that refuses a release, and accounts and releases in tables and JSON. Amounts are public."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpnb_columnar.core.budget import Approximate, PrivacyCost, Remaining, Spent
from dpnb_columnar.domain.names import MOST_NAMED, named, number_text
from dpnb_columnar.errors import (
    BudgetError,
    ConfigurationError,
    UsageError,
    command,
    option,
    printable,
    together,
)
from dpnb_columnar.ledger.records import Account, Charge, Entry, canonical, written_relation

LONGEST_SHOWN = 20  # characters of an amount in a message; longer ones are rounded to nine digits
MOST_OFFERED = 5  # accounts that the error for an unknown one names


def format_amount(amount: Fraction) -> str:
    """Format an amount for messages and tables: exact where that is short."""
    exact = number_text(amount)
    if len(exact) <= LONGEST_SHOWN:
        return exact
    about = Context(prec=9).divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{about.normalize():g}" if Fraction(about) == amount else f"about {about:g}"


def over_budget(path: Path, account: Account, cost: PrivacyCost) -> BudgetError:
    """Make the error for a release that the limit does not admit."""
    limit, spent, left = account.limit, account.spent, account.remaining
    requested = _amounts(cost)
    if requested.keys() == {"epsilon"} and not limit.delta:
        shown = [format_amount(amount) for amount in (limit.epsilon, spent.epsilon, left.epsilon, requested["epsilon"])]
        amounts = "limit epsilon {}, spent {}, remaining {}; this release asks for {}".format(*shown)
        remedy = f"lower {option('epsilon')} to what remains"
    else:
        columns = {"limit": _amounts(limit), "spent": _amounts(spent), "remaining": _amounts(left)}
        shown = [f"{what} {_listed(amounts)}" for what, amounts in columns.items()]
        amounts = f"{'; '.join(shown)}; this release asks for {_listed(requested)}"
        remedy = f"lower {option('epsilon')} or {option('delta')} to what remains"
    return BudgetError(
        f"{path}: data set {account.dataset}: {amounts}. A refund does not exist; {remedy}, or release nothing more "
        "about these persons"
    )


def amounts_text(record: PrivacyCost | Spent | Remaining) -> str:
    """Format amounts with their names; a delta of 0 is left out."""
    return _listed({name: amount for name, amount in _amounts(record).items() if amount or name != "delta"})


def _amounts(record: PrivacyCost | Spent | Remaining) -> dict[str, Fraction]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _listed(amounts: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {format_amount(amount)}" for name, amount in amounts.items())


def not_composable(path: Path, account: Account, cost: PrivacyCost) -> BudgetError | UsageError:
    """Make the error for a release whose cost cannot be added to the total."""
    if isinstance(cost, Approximate) and account.spent.rho:
        return BudgetError(
            f"{path}: data set {account.dataset}: concentrated releases have taken what was left of its delta, so that "
            f"no approximate one can follow; choose concentrated or pure {option('noise')}"
        )
    return UsageError(
        f"{path}: data set {account.dataset}: the amounts spent and asked for add up to a number of more than a "
        f"thousand digits; give {option('epsilon')} and {option('delta')} as short decimals"
    )


def other_relation(path: Path, account: Account, charge: Charge) -> ConfigurationError:
    """Make the error for a release in another neighbouring relation, or of another unit, than its account."""
    if charge.unit == account.unit:
        return ConfigurationError(
            f"{path}: data set {account.dataset}: its account is kept for {account.neighbours} neighbours, this "
            f"release is stated for {charge.neighbours}; run it with {option('neighbours', account.neighbours)}"
        )
    kept, stated_for = (f"one unit of {named(unit)}" if unit else "one row" for unit in (account.unit, charge.unit))
    remedy = f"run it with {option('unit', ','.join(account.unit))}" if account.unit else "leave the unit out"
    return ConfigurationError(
        f"{path}: data set {account.dataset}: its account is kept for {kept}, this release is stated for {stated_for}; "
        f"the two do not add up: {remedy}"
    )


def no_account(path: Path, name: str, known: Sequence[str]) -> ConfigurationError:
    """Make the error for a release without an account; a new one would give the same persons a second budget."""
    opening = command("ledger init", str(path), dataset=name, epsilon="NUMBER")
    if not known:
        return ConfigurationError(f"{path}: the ledger has no account for data set {name}; open one: {opening}")
    close = difflib.get_close_matches(name, known, n=MOST_OFFERED)
    offered = dict.fromkeys([*close, *known[: MOST_OFFERED - len(close)]])
    options = " or ".join(option("account", each) for each in offered)
    more = f" (all {len(known)}: {command('ledger show', str(path))})" if len(known) > len(offered) else ""
    return ConfigurationError(
        f"{path}: the ledger has no account for data set {name}; if these persons are accounted for already, under "
        f"whatever name, charge {options}{more}. A new account claims that none of them is in "
        f"any other account: {opening}"
    )


KIND_OF_RELEASE = ("given", "evaluated", "by")
"""Inputs that a release of another kind has, or one of another model: no option makes the two the same release."""


def other_inputs(path: Path, charged: Charge, requested: Charge, version: str = "unknown") -> UsageError | None:
    """Make the error for a run id that was charged for another release, with the options that repeat that one."""
    differing = _differences(_facts(charged), _facts(requested)) + _differences(charged.inputs, requested.inputs)
    if not differing:
        return None
    data = [printable(str(name)) for name in charged.inputs.get("data", ())] if "data" in differing else []
    counted = f"; it counted {', '.join([*data[:MOST_NAMED], *['...'] * (len(data) > MOST_NAMED)])}" if data else ""
    names = list(dict.fromkeys(differing))
    belongs = f"{path}: run id {requested.run}: belongs to a release with other inputs ({', '.join(names)}){counted}"
    if any(name in names for name in KIND_OF_RELEASE):
        return UsageError(f"{belongs}; give this one a {option('run-id')} of its own")
    options, others = _as_charged(charged, requested, names)
    finish = [f"with {together(options)}"] if options else []
    finish += [f"with {', '.join(others)} as it was then, or by the program that charged it"] if others else []
    return UsageError(
        f"{belongs}; version {version} charged it. Finish that one, which is paid for, "
        f"{' and '.join(finish) or 'by the program that charged it'}; another {option('run-id')} pays anew"
    )


def _as_charged(charged: Charge, requested: Charge, names: Sequence[str]) -> tuple[dict[str, object], list[str]]:
    """Return the options that make a release the one that was charged, and the inputs that no option settles."""
    then, unit = charged.inputs, charged.unit
    public, weight = (each if isinstance(each := then.get(name), Mapping) else {} for name in ("public", "weight"))
    by_unit = {} if unit == requested.unit else {"unit": ",".join(unit)}
    relation = {} if charged.neighbours == requested.neighbours else {"neighbours": charged.neighbours}
    flags = {"weight": "column", "weight-cap": "cap"}
    settled: dict[str, dict[str, object]] = {
        "dataset": {"account": charged.dataset},
        "neighbours": {**relation, **by_unit},
        "mechanism": {"mechanism": charged.mechanism},
        "noise": {"noise": charged.noise},
        "attribute_weights": {"attribute-weights": public.get("name") or then.get("attribute_weights", "none")},
        "epsilon": {"epsilon": then.get("epsilon")},
        "delta": {"delta": then.get("delta")},
        "rho": {},  # follows from these
    }
    if not public:
        settled["shares"] = {"shares": then.get("shares") or "equal"}
    if weight:
        settled["weight"] = {flag: weight.get(key) for flag, key in flags.items()}
    if by_unit or "weight" in names:
        settled["domain"] = {}  # they are a part of it
    if "attribute_weights" in names:
        settled |= {"public": {}, "reserved": {}} | ({"epsilon": {}} if "reserved" in names else {})
    options = {flag: value for name in names for flag, value in settled.get(name, {}).items() if value}
    gone = ["unit"] * (not unit and bool(requested.unit))
    return options, [name for name in names if name not in settled] + gone


def _facts(charge: Charge) -> dict[str, Any]:
    return {
        "dataset": charge.dataset,
        **{name: number_text(amount) for name, amount in _amounts(charge.cost).items()},
        "neighbours": written_relation(charge.neighbours, charge.unit),
        "mechanism": charge.mechanism,
        "noise": charge.noise,
    }


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    written = [{name: canonical(value) for name, value in each.items()} for each in (before, now)]
    return [name for name in {**before, **now} if written[0].get(name) != written[1].get(name)]


FIELDS = (
    *("number", "time", "run", "dataset", "epsilon", "delta", "rho", "neighbours", "mechanism", "noise"),
    *("model_digest", "version", "inputs", "inputs_digest", "total_epsilon", "total_delta", "total_rho", "digest"),
)
"""Columns of a release. All are text but the number; amounts are exact, and None where a cost has no such number."""

Row = dict[str, int | str | None]


def release_row(spend: Entry, model_digest: str | None) -> Row:
    """Make the row of a release from its spend and its model's digest, None while the run is unfinished."""
    return {name: model_digest if name == "model_digest" else getattr(spend, name) for name in FIELDS}


ACCOUNT_HEADER = (
    *("data set", "neighbours", "limit epsilon", "limit delta", "spent epsilon", "spent delta", "spent rho"),
    *("left epsilon", "left delta", "left rho"),
)

RELEASE_HEADER = {{"dataset": "data set", "model_digest": "model"}.get(name, name): name for name in FIELDS[:12]}
"""Columns of the table of releases, and the fields of ``FIELDS`` that they show."""


def account_cells(account: Account) -> list[str]:
    """Format an account as a row below ``ACCOUNT_HEADER``."""
    spent, left = account.spent, account.remaining
    amounts = (
        *(account.limit.epsilon, account.limit.delta),
        *(spent.epsilon, spent.delta, spent.rho),
        *(left.epsilon, left.delta, left.rho),
    )
    return [account.dataset, written_relation(account.neighbours, account.unit), *map(format_amount, amounts)]


def account_document(account: Account) -> dict[str, Any]:
    """Write an account as a JSON document with exact amounts."""
    return {
        "dataset": account.dataset,
        "neighbours": account.neighbours.value,
        **({"unit": [*account.unit]} if account.unit else {}),
        "bound": account.parts is not None,
        "limit": _texts(account.limit),
        "spent": _texts(account.spent),
        "remaining": _texts(account.remaining),
    }


def release_cells(row: Row) -> list[int | str]:
    """Format a release as a row below ``RELEASE_HEADER``; ``-`` stands for a missing value."""
    shown = {**row, "model_digest": str(row["model_digest"] or "-")[:12]}
    return ["-" if (cell := shown[name]) is None else cell for name in RELEASE_HEADER.values()]


def _texts(record: PrivacyCost | Spent | Remaining) -> dict[str, str]:
    return {name: number_text(amount) for name, amount in asdict(record).items()}
