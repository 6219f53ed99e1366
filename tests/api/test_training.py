"""One story of a release: it is planned once, and its steps follow one another in the order of the proof."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import training
from dpnb_columnar.core.budget import Approximate, Budget, Neighbours
from dpnb_columnar.core.measurement import Measurement
from dpnb_columnar.core.noise import ExactSampler, SystemBits
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.inputs import LocalFiles
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.releases import plan as planning
from dpnb_columnar.releases.model_plan import Pass, ReleasePlan, release
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.training import ChargedRun, Output, Payment, carry_out, payment_for

LEDGER = Path("people.ledger")


@pytest.fixture
def ledger(people_file: Path) -> Path:
    with Ledger.create(LEDGER) as opened:
        opened.open_account("people", Approximate(Fraction(9), Fraction(0)), Neighbours.ADD_REMOVE)
    return LEDGER


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> list[Budget]:
    """Budgets that have been divided: one for every plan that was made."""
    budgets: list[Budget] = []

    def noted(requests: Sequence[Any], budget: Budget) -> Any:
        budgets.append(budget)
        return composed(requests, budget)

    composed = planning.compose
    monkeypatch.setattr(planning, "compose", noted)
    monkeypatch.setattr(training, "check_complete", lambda *_: None)  # which plans a release of no rows
    return budgets


def fitted() -> object:
    """The estimator, fitted; skipped without scikit-learn."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from support.flowers import estimator, flowers

    return estimator(epsilon="0.5").fit(*flowers(100))


DOORS: dict[str, Callable[[Path, Run], object]] = {
    "dpnb.train": lambda file, run: dpnb.train(file, epsilon="0.5"),
    "dpnb.train, charged": lambda file, run: dpnb.train(file, epsilon="0.5", ledger=LEDGER),
    "dpnb.release": lambda file, run: dpnb.release(dpnb.aggregate(file), epsilon="0.5"),
    "dpnb.release, charged": lambda file, run: dpnb.release(dpnb.aggregate(file), epsilon="0.5", ledger=LEDGER),
    "fit": lambda file, run: fitted(),
    "train": lambda file, run: run("train", file, "--epsilon", "0.5"),
    "train --ledger": lambda file, run: run("train", file, "--epsilon", "0.5", "--ledger", LEDGER),
    "train --dry-run": lambda file, run: run("train", file, "--epsilon", "0.5", "--ledger", LEDGER, "--dry-run"),
    "release": lambda file, run: (
        run("aggregate", file, "--output", "s.parquet"),
        run("release", "s.parquet", "--output", "m.json", "--epsilon", "0.5", "--ledger", LEDGER),
    ),
    "plan": lambda file, run: run("plan", file, "--epsilon", "0.5", "--no-advice"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_release_is_planned_once(door: str, ledger: Path, people_file: Path, run: Run, divided: list[Budget]) -> None:
    DOORS[door](people_file, run)
    assert divided == [Budget(Fraction(1, 2))]


class Noted(Output):
    """An output that notes what is done."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    @contextmanager
    def reserved(self, run: str | None) -> Iterator[None]:
        self.steps.append("reserve")
        yield
        self.steps.append("free")

    def check(self) -> None:
        self.steps.append("check the output")

    def announce(self, plan: Any, payment: Payment | None) -> None:
        self.steps.append("announce")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.steps.append(name)
        yield

    def keep(self, model: Any) -> None:
        self.steps.append("write")

    def keep_again(self, model: Any, run: str) -> None:
        self.steps.append("write again")


def test_plan_pay_count_release_keep(ledger: Path, people_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spend is durable before noise is drawn, and the ledger has the model before the output has it."""
    output = Noted()

    class Rows(AskedRows):
        def check(self, domain: Any) -> AskedRows:
            output.steps.append("check the rows")
            return super().check(domain)

    def noted(place: Any, name: str, step: str) -> None:
        function = getattr(place, name)

        def call(*arguments: Any) -> Any:
            output.steps.append(step)
            return function(*arguments)

        monkeypatch.setattr(place, name, call)

    statistics = dpnb.aggregate(people_file)
    planned = plan(people_domain(), Budget(Fraction(1, 2)))
    payment = payment_for(planned, ledger, ("people.parquet",), run="once")
    noted(Payment, "admit", "ask the ledger")
    noted(Ledger, "spend", "spend")
    noted(ChargedRun, "keep", "keep")
    noted(training, "_reported", "draw")
    first = carry_out(planned, Rows(statistics), payment, output=output)
    before = ["reserve", "ask the ledger", "check the output", "check the rows", "announce", "counting"]
    assert output.steps == [*before, "spend", "releasing", "draw", "keep", "write", "free"]

    output.steps.clear()
    assert carry_out(planned, Rows(statistics), payment, output=output) == first
    assert output.steps == ["reserve", "ask the ledger", "write again", "free"]


def test_a_second_pass_comes_between_the_spend_and_the_keeping(
    ledger: Path, people_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given what the first released; weights are drawn of the same sampler, and one model is kept."""
    output = Noted()
    planned = plan(people_domain(), Budget(Fraction(1, 2)), "histogram", attribute_weights="calibrated")
    payment = payment_for(planned, ledger, ("people.parquet",), run="once")
    for place, name, step in ((Ledger, "spend", "spend"), (ChargedRun, "keep", "keep")):
        function = getattr(place, name)
        monkeypatch.setattr(
            place, name, lambda *given, call=function, step=step: [output.steps.append(step), call(*given)][1]
        )
    carry_out(planned, LocalFiles([people_file]), payment, output=output)
    assert output.steps[3:] == [
        *("counting", "spend", "releasing", "counting margins", "releasing weights", "keep", "write", "free")
    ]


def test_statistics_of_another_domain_are_not_released(people_file: Path) -> None:
    statistics = dpnb.aggregate(people_file)
    other = people_domain(
        {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {"k": {"values": ["p", "q"]}}}
    )
    with pytest.raises(ValueError, match="another domain"):
        release(statistics, plan(other, Budget(Fraction(1))), ExactSampler(SystemBits()))


@pytest.mark.parametrize("method", ["none", "calibrated", "learned"])
def test_what_is_asked_follows_from_the_plan_and_what_was_released(
    method: str, people_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan and what was released decide every question and the model, and no row does.

    Other rows are counted, and noise is drawn of their counts, but what was released of the first is sent back. The
    questions stay the same, so no exact count enters one: not by the generator, and not by anything that outlives it.
    """
    planned = plan(people_domain(), Budget(Fraction(1)), "histogram", attribute_weights=method)
    asked: list[Any] = []
    released: list[Any] = []
    sent: list[Any] = []

    def watched(each: ReleasePlan, *, seeded: bool) -> Generator[Pass, Any, Any]:
        questions = passes(each, seeded=seeded)
        question = next(questions)
        while True:
            asked.append(question.query)
            released.append((yield question))
            try:
                question = questions.send(sent.pop(0) if sent else released[-1])
            except StopIteration as end:
                return end.value

    passes = ReleasePlan.passes
    monkeypatch.setattr(ReleasePlan, "passes", watched)
    model = carry_out(planned, LocalFiles([people_file]))
    assert len(asked) == {"none": 1, "calibrated": 2, "learned": 4}[method]
    tables, *later = released
    assert all(isinstance(each, Measurement) for each in (*tables, *later))
    first, asked[:], sent[:] = list(asked), [], released
    other = people(200, seed=2).with_columns(income=pl.lit("high"), hours=pl.lit(1, pl.Int64))
    assert carry_out(planned, LocalFiles([write_people(Path("other.parquet"), other)])) == model
    assert asked == first
