"""What a ledger admits and refuses, and what runs that are begun again get."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime, tzinfo
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ledger_cases import APPROXIMATE, CONCENTRATED, LIMIT, PURE_LIMIT, TENTH, charge, new_ledger

from dpnb_columnar.core.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure, Spent, admits
from dpnb_columnar.errors import BudgetError, BusyError, ConfigurationError, UsageError
from dpnb_columnar.ledger import Ledger, Run, storage
from dpnb_columnar.ledger.records import fresh_run
from dpnb_columnar.ledger.storage import Entries

AMOUNTS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 7), Fraction(3, 10), Fraction(1, 1000)])
SMALL = st.sampled_from([Fraction(1, 10**7), Fraction(3, 10**7), Fraction(1, 3 * 10**6)])
LOSSES = st.one_of(
    st.builds(Pure, AMOUNTS),
    st.builds(Approximate, AMOUNTS, SMALL),
    st.builds(Concentrated, AMOUNTS.map(lambda a: a / 50)),
)
RUNS = st.sampled_from("abcdef")


class Model:
    """The rules of an account once more, without files."""

    def __init__(self, limit: Approximate) -> None:
        self.limit = limit
        self.runs: dict[str, PrivacyCost] = {}
        self.spent = Spent()

    def spend(self, run: str, loss: PrivacyCost) -> str:
        if run in self.runs:
            return "charged" if self.runs[run] == loss else "other inputs"
        if isinstance(loss, Approximate) and self.spent.rho:
            return "refused"
        total = self.spent.plus(loss)
        if not admits(self.limit, total):
            return "refused"
        self.runs[run], self.spent = loss, total
        return "charged"


def outcome(ledger: Ledger, run: str, loss: PrivacyCost) -> str:
    try:
        ledger.spend(charge(run, loss))
    except BudgetError:
        return "refused"
    except UsageError:
        return "other inputs"
    return "charged"


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(RUNS, LOSSES), max_size=12), st.sampled_from([LIMIT, PURE_LIMIT]))
def test_any_sequence_of_charges_is_accounted_exactly_and_never_overspent(
    charges: list[tuple[str, PrivacyCost]], limit: Approximate
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = new_ledger(Path(folder) / "census.ledger", limit)
        model = Model(limit)
        for run, loss in charges:
            with Ledger(path) as ledger:
                assert outcome(ledger, run, loss) == model.spend(run, loss)
                account = ledger.account("census")
                assert account.spent == model.spent
                assert admits(limit, account.spent)
        with Ledger(path) as ledger:
            ledger.verify()
            charged = {spend.run: ledger.run(str(spend.run)) for spend, _ in ledger.releases()}
            assert {run: known.charge.cost for run, known in charged.items() if known} == model.runs


def test_ten_tenths_are_one_and_not_an_eleventh(ledger: Ledger) -> None:
    for run in range(10):
        ledger.spend(charge(f"run-{run}"))
    assert ledger.account("census").spent.epsilon == 1
    with pytest.raises(BudgetError, match=r"limit epsilon 1, spent 1, remaining 0; this release asks for 0\.1\."):
        ledger.spend(charge("run-10"))
    assert len(list(ledger.entries())) == 11


def test_a_refused_release_is_told_what_it_needs(path: Path) -> None:
    with Ledger(path) as ledger:
        with pytest.raises(BudgetError) as caught:
            ledger.spend(charge("f", Concentrated(Fraction(1))))
        text = str(caught.value)
        assert text.startswith(f"{path}: data set census: limit epsilon 2, delta 0.000001; spent epsilon 0.3, ")
        assert "delta 0.00000001, rho 0.006;" in text
        assert "this release asks for rho 1. A refund does not exist" in text
        with pytest.raises(BudgetError, match="no approximate one can follow"):
            ledger.spend(charge("f", APPROXIMATE))
        with pytest.raises(ConfigurationError, match='run it with neighbours="add-remove"'):
            ledger.spend(replace(charge("f"), neighbours=Neighbours.REPLACE_ONE))
        with pytest.raises(
            ConfigurationError,
            match=r'no account for data set censu; .* charge account="census" or account="oregon"\. A new',
        ):
            ledger.spend(charge("f", dataset="censu"))
        with pytest.raises(UsageError, match="more than a thousand digits"):
            ledger.spend(charge("f", Pure(Fraction(1, 10**1001))))
        assert len(list(ledger.entries())) == 10


@pytest.mark.parametrize(
    "loss",
    [
        Pure(Fraction(0)),
        Concentrated(Fraction(0)),
        Approximate(Fraction(0), Fraction(1, 10**7)),
        Approximate(Fraction(1, 10), Fraction(0)),
    ],
)
def test_nothing_is_released_for_a_charge_of_nothing(loss: PrivacyCost, ledger: Ledger) -> None:
    for ask in (ledger.refuse_if_unaffordable, ledger.spend):
        with pytest.raises(ValueError, match="a charge must be above 0"):
            ask(charge("a", loss))
    assert ledger.run("a") is None
    assert len(list(ledger.entries())) == 1


@pytest.mark.parametrize("loss", [Pure(Fraction(2)), Pure(Fraction(1, 3)), CONCENTRATED, APPROXIMATE])
def test_the_check_before_any_row_is_opened_agrees_and_spends_nothing(loss: PrivacyCost, ledger: Ledger) -> None:
    before = ledger.head()
    try:
        assert ledger.refuse_if_unaffordable(charge("a", loss)) is None
        refused = False
    except BudgetError:
        refused = True
    assert ledger.head() == before
    assert (outcome(ledger, "a", loss) == "refused") is refused


def test_inputs_that_no_entry_holds_are_refused_before_any_row_is_opened(ledger: Ledger) -> None:
    large = charge("a", data=[f"/census/part-{number:06}.parquet" for number in range(10_000)])
    for act in (ledger.refuse_if_unaffordable, ledger.spend):
        with pytest.raises(UsageError, match=r"run id a: .* dpnb\.aggregate, .* dpnb-columnar release"):
            act(large)
    assert len(list(ledger.entries())) == 1
    assert ledger.refuse_if_unaffordable(charge("a", data=large.inputs["data"][:5000])) is None


# --- runs that are begun again ------------------------------------------------------------------------------------


def test_a_run_is_charged_once_and_its_first_model_counts(ledger: Ledger) -> None:
    assert ledger.run("a") is None
    assert ledger.spend(charge("a")) == Run(charge("a"))
    assert ledger.spend(charge("a")) == ledger.refuse_if_unaffordable(charge("a")) == Run(charge("a"))
    assert ledger.keep("a", "first") == "first"
    assert ledger.keep("a", "second") == "first"
    known = ledger.spend(charge("a"))
    assert (known.document, known.digest) == ("first", next(ledger.releases())[1])
    assert ledger.account("census").spent.epsilon == TENTH.epsilon
    assert len(list(ledger.entries())) == 3


def test_a_finished_run_is_given_even_where_nothing_is_left(ledger: Ledger) -> None:
    ledger.spend(charge("a", Pure(Fraction(1))))
    assert ledger.spend(charge("a", Pure(Fraction(1)))).charge.cost == Pure(Fraction(1))


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (charge("a", Pure(Fraction(1, 5))), "epsilon"),
        (charge("a", APPROXIMATE), "epsilon, delta"),
        (charge("a", CONCENTRATED), "epsilon, rho"),
        (charge("a", data=["oregon.parquet"], domain="x"), "data, domain"),
        (replace(charge("a"), mechanism="paper", noise="cauchy"), "mechanism, noise"),
        (replace(charge("a"), dataset="oregon"), "dataset"),
        (replace(charge("a"), neighbours=Neighbours.REPLACE_ONE), "neighbours"),
    ],
)
def test_a_run_id_with_other_inputs_is_refused_by_their_names(other: object, names: str, ledger: Ledger) -> None:
    ledger.spend(charge("a"))
    with pytest.raises(UsageError, match=rf"run id a: belongs to a release with other inputs \({names}\)"):
        ledger.spend(other)  # type: ignore[arg-type]
    assert len(list(ledger.entries())) == 2


def test_nothing_is_kept_for_a_run_that_was_not_charged(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="spend first"):
        ledger.keep("a", "{}")


@pytest.mark.parametrize("run", ["scheduled__2026-11-21T00:00:00+00:00", "a", "x" * 200, "._:+@=-"])
def test_run_ids_of_schedulers_fit(run: str, ledger: Ledger) -> None:
    ledger.spend(charge(run))
    assert ledger.run(run) == Run(charge(run))


@pytest.mark.parametrize("run", ["", "x" * 201, "a b", "a/b", "a\n", "é", "a\0", "'; --", "\udcff"])
def test_other_run_ids_are_refused(run: str, ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="run id"):
        ledger.spend(charge(run))


def test_fresh_run_ids_differ_and_fit(ledger: Ledger) -> None:
    fresh = {fresh_run() for _ in range(100)}
    assert len(fresh) == 100
    assert ledger.spend(charge(min(fresh))) == Run(charge(min(fresh)))


# --- accounts -----------------------------------------------------------------------------------------------------


def test_an_account_keeps_what_it_was_opened_with(tmp_path: Path) -> None:
    limit = Approximate(Fraction(1, 3), Fraction(1, 45222))
    parts = frozenset(["parquet:aa", "parquet:bb"])
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        opened = ledger.open_account("census of 1940, é", limit, Neighbours.REPLACE_ONE, parts)
        assert opened == ledger.account("census of 1940, é") == next(ledger.accounts())
        assert (opened.limit, opened.neighbours, opened.parts) == (limit, Neighbours.REPLACE_ONE, parts)
        with pytest.raises(UsageError, match="its limit never changes"):
            ledger.open_account("census of 1940, é", LIMIT, Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("name", ["", " ", "x ", "a\nb", "\x1b[0m", "x" * 201, "\udcff"])
def test_names_that_cannot_be_shown_are_refused(name: str, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger") as ledger, pytest.raises(UsageError, match="give it a name"):
        ledger.open_account(name, LIMIT, Neighbours.ADD_REMOVE)


def test_budgets_of_data_sets_are_apart(ledger: Ledger) -> None:
    ledger.open_account("oregon", PURE_LIMIT, Neighbours.ADD_REMOVE)
    ledger.spend(charge("a", Pure(Fraction(1))))
    ledger.spend(charge("b", Pure(Fraction(1)), dataset="oregon"))
    assert [account.remaining.epsilon for account in ledger.accounts()] == [0, 0]


@given(st.fractions(min_value=Fraction(1, 10**300), max_value=Fraction(999)))
@settings(deadline=None, max_examples=15)
def test_amounts_are_kept_exactly(epsilon: Fraction) -> None:
    with tempfile.TemporaryDirectory() as folder, Ledger.create(Path(folder) / "x.ledger") as ledger:
        ledger.open_account("census", Approximate(Fraction(1000), Fraction(0)), Neighbours.ADD_REMOVE)
        ledger.spend(charge("a", Pure(epsilon)))
        known = ledger.run("a")
        assert known is not None
        assert known.charge.cost == Pure(epsilon)
        assert ledger.account("census").spent.epsilon == epsilon
        ledger.verify()


def test_two_accounts_are_not_bound_to_one_file(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        ledger.open_account("first", LIMIT, Neighbours.ADD_REMOVE, frozenset(["parquet:aa", "parquet:bb"]))
        ledger.open_account("unbound", LIMIT, Neighbours.ADD_REMOVE)
        with pytest.raises(UsageError, match=r'account first is bound to one of these files already.*account="first"'):
            ledger.open_account("second", LIMIT, Neighbours.ADD_REMOVE, frozenset(["parquet:bb", "parquet:cc"]))
        ledger.open_account("third", LIMIT, Neighbours.ADD_REMOVE, frozenset(["parquet:cc"]))
        assert [account.dataset for account in ledger.accounts()] == ["first", "unbound", "third"]


def test_nobody_reads_a_total_while_another_run_spends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or two runs would each find room for themselves: the second has to wait before it looks."""
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0)
    path = new_ledger(tmp_path / "x.ledger")
    with (
        storage.open_connection(path) as first,
        storage.open_connection(path) as second,
        storage.write_transaction(path, first),
        pytest.raises(BusyError, match="other runs have held this ledger"),
        storage.write_transaction(path, second),
    ):
        raise AssertionError("both are at it")


def test_what_fails_within_a_transaction_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = new_ledger(tmp_path / "x.ledger")
    with Ledger(path) as ledger:
        ledger.spend(charge("a"))
        head = ledger.head()

        def fail(entries: Entries, run: str, document: str) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Entries, "keep", fail)  # which comes after the entry that names the document
        with pytest.raises(KeyboardInterrupt):
            ledger.keep("a", "{}")
        assert ledger.head() == head
        assert ledger.run("a") == Run(charge("a"))
    with Ledger(path) as ledger:
        assert ledger.verify().head == head


@pytest.mark.parametrize(
    "limit",
    [
        Approximate(Fraction(0), Fraction(0)),
        Approximate(Fraction(1001), Fraction(0)),
        Approximate(Fraction(1), Fraction(-1, 10**9)),
        Approximate(Fraction(1), Fraction(1, 19)),
    ],
)
def test_no_account_is_opened_with_a_limit_that_protects_nobody(limit: Approximate, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        with pytest.raises(ValueError, match="its limit is out of range"):
            ledger.open_account("census", limit, Neighbours.ADD_REMOVE)
        assert list(ledger.entries()) == []


def test_a_clock_that_is_set_back_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are numbered, and a new run's id does not rely on the time alone."""
    hours = chain((9, 3, 3), repeat(1))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 11, 22, next(hours), tzinfo=tz)

    monkeypatch.setattr("dpnb_columnar.ledger.records.datetime", Clock)
    with Ledger(new_ledger(tmp_path / "x.ledger")) as ledger:
        for run in ("z", "b", "a"):
            ledger.spend(charge(run))
        ledger.verify()
        assert [spend.run for spend, _ in ledger.releases()] == ["z", "b", "a"]
        assert ledger.account("census").spent.epsilon == Fraction(3, 10)
    assert fresh_run() != fresh_run()
