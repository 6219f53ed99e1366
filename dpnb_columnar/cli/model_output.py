"""The model file that ``train`` and ``release`` write, and what they say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.advice.plan_text import (
    budget_line,
    composition_facts,
    prior_line,
    public_facts,
    public_line,
    unit_facts,
)
from dpnb_columnar.cli import budget_options
from dpnb_columnar.cli.console import print_line, print_warning
from dpnb_columnar.cli.file_output import FileOutput
from dpnb_columnar.cli.next_commands import awaits
from dpnb_columnar.counting.find_domain import ResolvedDomain
from dpnb_columnar.domain.declaration import weight_document
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.attribute_weights import NONE, UNCALIBRATED
from dpnb_columnar.mechanisms.release_plan import ReleasePlan
from dpnb_columnar.model.model import Model, load_model
from dpnb_columnar.model.model_files import save_model

if TYPE_CHECKING:
    from dpnb_columnar.budget.amounts import DeclaredRowCount
    from dpnb_columnar.training import Payment


@dataclass(frozen=True, slots=True)
class ModelOutput(FileOutput[ReleasePlan, Model]):
    """A model file, and the lines on the way to it.

    Attributes:
        resolved: The domain, and its origin.
        delta: Delta as typed, perhaps a rule.
        rows: The n of the rule, if there is one.
    """

    resolved: ResolvedDomain
    delta: str
    rows: DeclaredRowCount | None

    def read(self) -> Model:
        """Read the model file."""
        return load_model(self.path)

    def write(self, released: Model) -> None:
        """Write the model file."""
        save_model(released, self.path, overwrite=self.overwrite)

    def announce(self, plan: ReleasePlan, payment: Payment[Model] | None) -> None:
        """Say in which domain rows are counted, what the release spends, and who pays."""
        budget_options.print_domain(self.resolved)
        budget_options.print_rule(self.delta, self.rows)
        mechanism, queries = plan.mechanism.name, len(plan.shares)
        facts: dict[str, object] = {"mechanism": mechanism, "queries": queries}
        if plan.automatic or plan.attribute_weights is not None:
            facts["attribute_weights"] = plan.attribute_weights or NONE
        if plan.mechanism.private:
            budget = plan.budget
            facts |= {
                "epsilon": number_text(budget.epsilon),
                "delta": number_text(budget.delta),
                "neighbours": str(budget.neighbours),
            }
            if plan.domain.unit is not None:
                facts["unit"] = unit_facts(plan.domain.unit)
            if plan.domain.weight is not None:
                facts["weight"] = weight_document(plan.domain.weight)
            facts["composition"] = composition_facts(plan.shares)
            noun = "query" if queries == 1 else "queries"
            print_line(f"{budget_line(plan)}, {queries} {noun}", "budget", **facts)
            if plan.domain.weight is not None:
                print_line(prior_line(plan.domain.weight))
            if plan.uncalibrated:
                print_line(UNCALIBRATED, "uncalibrated")
        else:
            print_line(f"mechanism {mechanism}: NOT PRIVATE, nothing is protected", "budget", **facts)
        if plan.public is not None:
            print_line(public_line(plan.public), "public file", **public_facts(plan.public))
        self.say_charge(payment)

    def keep(self, released: Model) -> None:
        """Write the model file.

        Raises:
            OutputError: if the file cannot be written.
        """
        self.write(released)
        if not released.guarantee.private:
            print_warning("this model carries NO GUARANTEE; it is as confidential as the rows")
        print_line(f"wrote {self.path}", "written", output=str(self.path))
        if released.guarantee.reserved:
            print_line(awaits(released.guarantee.reserved, self.path))
