"""``dpnb-columnar train``: from confidential rows to a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import LogFormat
from dpnb_columnar.cli.options import Config
from dpnb_columnar.counting.inputs import Engine, opened_input
from dpnb_columnar.options import Declared, PaymentOptions, Terms
from dpnb_columnar.runtime.outputs import default_name


@options.expanded
def command(
    context: typer.Context,
    data: options.DataOrTable = None,
    *,
    declared: Declared,
    terms: Terms,
    output: Annotated[
        Path | None, typer.Option(help="Model file, .json or .parquet.", show_default="DATA.model.json")
    ] = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    engine: options.EngineName = Engine.LOCAL,
    table: options.SparkOrDatabaseTable = None,
    charged: PaymentOptions,
    config: Config = None,
    dry_run: options.DryRun = False,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """Train a classifier, and write it with its guarantee.

    The domain comes from NAME.domain.toml beside the file, from the data's own
    metadata, or from the entry of datasets.toml (working directory first, then
    the packaged one) that claims the file's name. What is printed is public:
    nothing depends on a row except through the released model.

    \b
    Examples:
      dpnb-columnar train census.parquet
      dpnb-columnar train "state-*.parquet" --epsilon 0.5 --output model.parquet
      dpnb-columnar train adult.parquet --mechanism histogram --shares equal
      dpnb-columnar train census.parquet --noise gaussian --delta 1/n^2 --declared-rows 250000
      dpnb-columnar train census.parquet --unit SERIAL --unit-rows 1
      dpnb-columnar train census.parquet --weight PERWT --weight-cap 400
      dpnb-columnar train census.parquet --ledger census.ledger --run-id 2026-11-21
      dpnb-columnar train census.parquet --mechanism histogram --attribute-weights sample.parquet
      dpnb-columnar train s3://census/2018/ --dataset census
      dpnb-columnar train --config job.toml --dry-run
      dpnb-columnar train lake/census@12 --dataset census
      dpnb-columnar train postgresql://curator@db/census --table person --dataset census
      dpnb-columnar train --engine spark hdfs://census/2018
    """
    from dpnb_columnar.cli.file_output import FileOutput, payment, rehearse, sampler
    from dpnb_columnar.model.model_files import check_suffix
    from dpnb_columnar.public_sample import public_path
    from dpnb_columnar.training import carry_out

    with opened_input(engine, data, table) as rows:
        found = rows.find_domain(declared.entry, declared.label)
        resolved = declared.counted(found)
        row_count = options.declared_row_count_for(resolved, terms)
        known = None if row_count is None else row_count.rows
        budget = terms.budget(terms.effective_epsilon(resolved), known)
        target = output or default_name(data or (), resolved.domain.name, ".model.json")
        check_suffix(target)
        planned = terms.planned(
            resolved.domain, budget, known, inputs=rows.files, label=declared.label, repeatable=rows.repeatable
        )
        paid = payment(planned, rows.names, seed, charged)
        beside = (declared.catalogue_file, charged.ledger_file, config, public_path(terms.attribute_weights))
        inputs = [*rows.files, *(file for file in beside if file is not None)]
        rule = options.rule_line(str(terms.delta), row_count)
        model_output = FileOutput(planned, target, overwrite, inputs, resolved, rule, rows=known)
        if dry_run:
            settled = options.entry_defaults(resolved, row_count) | {"--output": (target, "the data's name")}
            options.print_settings(context, settled)
            rehearse(rows, paid, model_output)
        else:
            carry_out(planned, rows, paid, sampler(seed), model_output)
