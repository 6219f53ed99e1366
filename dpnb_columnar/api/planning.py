"""What a release would cost and how wrong it is expected to be, before a row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.api.arguments import GIVEN, Data, Epsilon, budget_of, checked, given_domain, paths_of
from dpnb_columnar.budget import Neighbours, is_rule, parse_rows
from dpnb_columnar.budget.amounts import DeclaredRowCount
from dpnb_columnar.counting.find_domain import ResolvedDomain, find_domain_to_plan
from dpnb_columnar.domain import Declaration, UnlabelledDomain
from dpnb_columnar.domain.labelling import provisional
from dpnb_columnar.domain.units_and_weights import Number
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.release_plan import plan as plan_release
from dpnb_columnar.public_sample import weights_chosen
from dpnb_columnar.rows.frames import is_frame, open_frame
from dpnb_columnar.rows.input_files import resolve_files
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.wording import speaking_python

if TYPE_CHECKING:
    from dpnb_columnar.advice.outlook import Outlook


@speaking_python()
def plan(
    data: Data | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: Epsilon = 0,
    rows: int | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    weight_step: Number | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    attribute_weights: str | PathLike[str] = "auto",
    shares: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
    class_sizes: Sequence[int] | None = None,
    class_shares: str | None = None,
    rehearse: bool = True,
) -> Outlook:
    """Show what ``train`` would release with the same arguments, at which cost and error. No row is read.

    Args:
        data: Files, folders or patterns, or a frame, as for ``train``; None where ``domain`` or ``dataset`` says all.
        epsilon: Privacy budget, as for ``train``; None for the one that a catalogue entry declares, else 1.
        delta: The delta of (epsilon, delta)-differential privacy, or a rule for it, as for ``train``.
        rows: The declared, public number of rows, such as the codebook's: for the advice, and as for ``train``.
        domain: Domain, or a mapping of its declaration's tables; None for the one that the files carry, or that a
            catalogue declares for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in; None for ``datasets.toml`` in the working directory, then
            the packaged one.
        label: What to predict: a condition, or a categorical column; None for the declared label. Where none is
            declared, two classes stand in for it.
        unit: Columns that name the unit that the guarantee is for in place of one row, as for ``train``.
        unit_rows: The most rows of one unit that count, as for ``train``.
        weight: Column of the weight of a row, as for ``train``.
        weight_cap: The most that one row weighs, as for ``train``.
        weight_step: Weights are rounded to multiples of this step, as for ``train``.
        mechanism: Name of the mechanism, as for ``train``.
        noise: Noise family for smooth sensitivity; None for the mechanism's default.
        attribute_weights: Weights of the attributes, as for ``train``.
        shares: Division of the budget, as for ``train``.
        neighbours: ``add-remove`` or ``replace-one``.
        class_sizes: Rows of a class to expect errors for; None for ``rows`` by the number of classes, or, without
            ``rows``, for 10,000 and 1,000,000.
        class_shares: Published shares of the classes, in the domain's order, such as ``94:6``, for the rehearsal; None
            for 3 to 1 and 15 to 1. They are never counted.
        rehearse: Whether to rehearse the release on made-up rows, which takes a second or so per ten attributes.

    Returns:
        The plan, its errors, and what is expected of it. Printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if ``train`` would refuse the arguments.
    """
    from dpnb_columnar.advice.outlook import outlook

    if class_sizes is not None and not class_sizes:
        raise UsageError("class_sizes: give at least one number of rows")
    sizes = None if class_sizes is None else tuple(parse_rows(size, "class_sizes") for size in class_sizes)
    files = () if data is None or is_frame(data) else resolve_files(paths_of(data))
    resolved = _domain(files, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
    resolved = resolved.by_weight(weight, weight_cap, weight_step)
    known = None if rows is None else DeclaredRowCount(parse_rows(rows), "the argument rows")
    if known is None and resolved.rows is not None:
        known = DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    number = None if known is None else known.rows
    spent = resolved.effective_epsilon(None) if epsilon is None else epsilon
    budget = budget_of(spent, delta, neighbours, number, shares)
    if data is not None:
        _ = open_frame(data, resolved.domain) if is_frame(data) else open_parquet(files, resolved.domain)
    weights = weights_chosen(attribute_weights, resolved.domain, mechanism, files, label)
    planned = plan_release(resolved.domain, budget, mechanism, noise, weights, number)
    return outlook(
        planned,
        resolved.origin,
        sizes,
        known,
        sizes_from="the first of class_sizes, in each class",
        label_chosen=resolved.label_chosen,
        rule=str(delta).strip() if is_rule(delta) else None,
        class_shares=class_shares,
        rehearsed=rehearse,
    )


def _domain(
    files: Sequence[Path],
    domain: Declaration | Mapping[str, Any] | None,
    dataset: str | None,
    catalogue: str | PathLike[str] | None,
    label: str | None,
) -> ResolvedDomain:
    """Return the domain given, or find that of the files; without a label, with one that stands in for it.

    Raises:
        UsageError: if no domain is named, or two are.
    """
    if domain is None:
        if not files and dataset is None:
            raise UsageError("name a domain: give data that carries one, domain or dataset")
        return find_domain_to_plan(files, dataset, label, None if catalogue is None else Path(catalogue))
    declared = given_domain(domain, dataset, catalogue)
    if label is None and isinstance(declared, UnlabelledDomain):
        return ResolvedDomain(provisional(declared), GIVEN, label_chosen=False)
    return ResolvedDomain(checked(declared, label), GIVEN)
