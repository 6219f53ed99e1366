"""``dpnb-columnar ledger``: privacy budgets of data sets, and the releases that spent them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli.console import print_line, print_table, print_text, print_warning
from dpnb_columnar.cli.main import PlainCommand, PlainGroup
from dpnb_columnar.core.budget import Approximate, Neighbours, is_rule, parse_delta, parse_epsilon

if TYPE_CHECKING:
    from dpnb_columnar.ledger import Ledger


def payment(file: Path, ledger: Ledger) -> tuple[bool, str]:
    """Return whether a ledger was charged for a model or for scores, in any form, and a line that says as which run."""
    from dpnb_columnar.ledger.records import cost_of
    from dpnb_columnar.ledger.refusals import amounts_text

    digest, private = _content(file)
    spend = ledger.spend_of(digest) if private else None
    if spend is None:
        reason = "no run that it was charged for released this content" if private else "it carries no guarantee"
        return False, (
            f"{ledger.path}: {file}: not in this ledger: {reason}; give the ledger that paid for it, or the file as it "
            "was released"
        )
    same = "byte for byte" if sha256(file.read_bytes()).hexdigest() == digest else "in content, in another form"
    return True, (
        f"{ledger.path}: {file} was paid for: run {spend.run} of data set {spend.dataset} "
        f"({amounts_text(cost_of(spend))}, {spend.time}) released it, the same {same}"
    )


def _content(file: Path) -> tuple[str, bool]:
    """Return the digest of a file's document as a ledger keeps it, and whether it carries a guarantee."""
    from dpnb_columnar.evaluation.released_scores import holds_scores, load_scores, scores_document
    from dpnb_columnar.model.document import document_digest, to_json
    from dpnb_columnar.model.model_files import read_model

    if holds_scores(file):
        scores = load_scores(file)
        text = to_json(scores_document(scores))
        return sha256(text.encode()).hexdigest(), scores.guarantee.private
    model = read_model(file)
    return document_digest(model), model.guarantee.private


app = typer.Typer(
    cls=PlainGroup,
    help="Keep account of privacy budgets: init, show, verify.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

WitnessFile = Annotated[
    Path | None,
    typer.Option(
        "--witness",
        help="File in another folder, better on another disk, that knows the ledger's newest head, so that a roll-back "
        "is noticed.",
        metavar="FILE",
        show_default="none",
    ),
]
LedgerFile = Annotated[Path, typer.Argument(help="Ledger, an SQLite file.", metavar="FILE")]


@app.command(cls=PlainCommand)
def init(
    file: LedgerFile,
    dataset: Annotated[
        str, typer.Option(help="Name of the data set; train charges the account of its domain's name.", metavar="NAME")
    ],
    epsilon: Annotated[
        str,
        typer.Option(help="Limit that all releases together never pass. It cannot be changed later.", metavar="NUMBER"),
    ],
    delta: Annotated[
        str,
        typer.Option(help="Limit of delta, for releases with noise that needs one: 1e-6, 1/50000.", metavar="NUMBER"),
    ] = "0",
    neighbours: Annotated[
        Neighbours, typer.Option("--neighbours", help="Neighbouring relation of the limit, and of every release.")
    ] = Neighbours.ADD_REMOVE,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Column of the unit that the limit, and every release, is for, such as a household's SERIAL; several "
            "with commas.",
            metavar="COLUMN",
            show_default="one row",
        ),
    ] = None,
    bind: Annotated[
        list[str] | None,
        typer.Option(
            help="Parquet files (a folder, a quoted pattern) whose contents alone may be counted. Repeatable. The "
            "ledger then holds digests of them, and is confidential.",
            metavar="DATA",
            show_default="whatever is given to train",
        ),
    ] = None,
    witness: WitnessFile = None,
) -> None:
    """Open the budget of a data set, in a ledger that is made if it is not there.

    A limit holds for the people in the data: copies, extracts and later
    states of one data set share one budget, so give them one name. Nothing is
    ever refunded, and no entry of a ledger is ever changed. A witness is
    begun together with the ledger.

    \b
    Examples:
      dpnb-columnar ledger init census.ledger --dataset census --epsilon 3
      dpnb-columnar ledger init census.ledger --dataset acs2018 --epsilon 2 --delta 1e-6
      dpnb-columnar ledger init census.ledger --dataset oregon --epsilon 1 \\
          --neighbours replace-one --bind oregon.parquet
      dpnb-columnar ledger init census.ledger --dataset households --epsilon 1 \\
          --unit SERIAL
      dpnb-columnar ledger init census.ledger --dataset census --epsilon 3 \\
          --witness /mnt/other/census.witness
    """
    from dpnb_columnar.domain.editing import unit_columns
    from dpnb_columnar.domain.names import check_dataset
    from dpnb_columnar.errors import UsageError
    from dpnb_columnar.ledger.refusals import amounts_text

    if is_rule(delta):
        raise UsageError("--delta: a limit is a number, such as 1e-6 or 1/50000; it takes no rule")
    limit = Approximate(parse_epsilon(epsilon), parse_delta(delta))
    check_dataset(dataset)
    parts = _parts(bind)
    columns = () if unit is None else unit_columns(unit)
    with _opened(file, witness) as ledger:
        account = ledger.open_account(dataset, limit, neighbours, parts, columns)
    bound = "" if parts is None else ", bound to files"
    of = f" of units of {', '.join(account.unit)}" if account.unit else ""
    print_line(
        f"{file}: data set {account.dataset}, limit {amounts_text(account.limit)} ({neighbours} neighbours{of}{bound})"
    )
    if parts is not None:
        print_warning(f"{file} holds digests of the data; keep it as confidential as the rows")


@app.command(cls=PlainCommand)
def show(
    file: LedgerFile,
    dataset: Annotated[
        str | None, typer.Option(help="Only this data set.", metavar="NAME", show_default="all of them")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, amounts exact.")] = False,
) -> None:
    """Show each data set's limit, what is spent and what remains, and every release.

    What remains is the most that one more release may cost: an epsilon for
    pure noise, an epsilon and a delta, or a rho for concentrated noise.

    \b
    Examples:
      dpnb-columnar ledger show census.ledger
      dpnb-columnar ledger show census.ledger --dataset census --json
    """
    from json import dumps

    from dpnb_columnar.ledger import Ledger, refusals

    with Ledger(file) as ledger:
        accounts = [ledger.account(dataset)] if dataset is not None else list(ledger.accounts())
        released = ((spend, model) for spend, model in ledger.releases() if dataset in (None, spend.dataset))
        rows = [refusals.release_row(spend, model) for spend, model in released]
        head, witness = ledger.head(), ledger.recorded_witness()
    if as_json:
        budgets = [refusals.account_document(account) for account in accounts]
        recorded = None if witness is None else str(witness)
        document = {"head": head, "witness": recorded, "accounts": budgets, "releases": rows}
        print_text(dumps(document, ensure_ascii=False, indent=2))
        return
    print_table(refusals.ACCOUNT_HEADER, [refusals.account_cells(account) for account in accounts])
    print_line()
    print_table([*refusals.RELEASE_HEADER], [refusals.release_cells(row) for row in rows])
    print_line()
    if witness is not None:
        print_line(_unchecked(file, witness))
    print_line(f"head {head}")


@app.command(cls=PlainCommand)
def verify(
    file: LedgerFile,
    head: Annotated[
        str | None,
        typer.Option(
            help="Digest noted after an earlier run; it has to be in the chain.", metavar="DIGEST", show_default=False
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model, or file of released scores: say which run paid for it; ends with 65 if none did.",
            metavar="MODEL",
        ),
    ] = None,
    witness: WitnessFile = None,
    begin_witness: Annotated[
        bool,
        typer.Option(
            "--begin-witness",
            help="Make the witness of a ledger whose witness is lost, or that never had one; --head has to be the "
            "digest of its last entry.",
        ),
    ] = False,
) -> None:
    """Recompute the whole ledger; ends with 65 at the first entry that is broken.

    Checked are the chain of digests, the totals, the limits, and the models.
    The last line is the head, the digest of the last entry. Note it where
    those who can write the ledger cannot: only a noted head tells whether the
    last entries were taken away, or a backup was put back. A witness does
    that by itself: where it knows more than the ledger, verify ends with 65;
    where it is missing, with 66. Nothing is written but with --begin-witness,
    which needs the head that was noted after the last run.

    \b
    Examples:
      dpnb-columnar ledger verify census.ledger
      dpnb-columnar ledger verify census.ledger --head "$(tail -n 1 heads.txt)"
      dpnb-columnar ledger verify census.ledger --model census.model.json
      dpnb-columnar ledger verify census.ledger --witness /mnt/other/census.witness \\
          --begin-witness --head "$(tail -n 1 heads.txt)"
    """
    from dpnb_columnar.errors import DataError, UsageError
    from dpnb_columnar.ledger import Ledger

    if begin_witness and witness is None:
        raise UsageError("--begin-witness is for a witness; name its file with --witness")
    if begin_witness and head is None:
        raise UsageError(
            "--begin-witness would believe a ledger that was rolled back; give the head that was noted after the last "
            "run with --head"
        )
    with Ledger(file, witness) as ledger:
        verified = ledger.verify(head)
        if begin_witness and head is not None:
            ledger.begin_witness(head)
            verified = ledger.verify(head)
        known = None if witness is None else ledger.witnessed()
        recorded = ledger.recorded_witness()
        paid, line = (True, None) if model is None else payment(model, ledger)
    if not paid:
        raise DataError(line)
    print_line(f"{file}: {verified.entries} entries, each follows from those before it; every limit was kept")
    if verified.secret is not None:
        print_warning(
            f"{file}: entry {verified.secret} names an address that seems to hold a password: whoever reads the "
            "ledger can read it; change that password (docs/batch.md, 'A password in a ledger')"
        )
    if line is not None:
        print_line(line)
    if known is not None:
        behind = "" if known >= verified.entries else "; the next run that is given it brings it up to date"
        print_line(f"{witness}: has seen {known} entries{behind}")
    elif recorded is not None:
        print_line(_unchecked(file, recorded))
    elif head is None:
        print_line("note the head elsewhere, and give it to the next verify as --head")
    print_line(f"head {verified.head}")


def _unchecked(file: Path, witness: Path) -> str:
    """Say that the ledger has a witness, which this verb has not read."""
    from dpnb_columnar.errors import command

    compare = command("ledger verify", str(file), witness=str(witness))
    return f"its witness {witness} was not read; compare the two: {compare}"


def _opened(file: Path, witness: Path | None) -> Ledger:
    """Open the ledger, or create it if there is none; several processes may do so at the same time."""
    import time
    from os.path import lexists

    from dpnb_columnar.errors import BusyError, OutputError
    from dpnb_columnar.ledger import Ledger
    from dpnb_columnar.ledger.storage import BUSY_SECONDS

    deadline = time.monotonic() + BUSY_SECONDS
    while not lexists(file):
        try:
            return Ledger.create(file, witness)
        except BusyError:  # another run makes it
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        except OutputError:
            if not lexists(file):
                raise
    return Ledger(file, witness)


def _parts(bind: list[str] | None) -> frozenset[str] | None:
    """Return digests of the files that an account is bound to; None if it is bound to none."""
    if not bind:
        return None
    from dpnb_columnar.counting.countable import file_parts
    from dpnb_columnar.errors import DataError
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import read_metadata

    files = resolve_files(bind)
    for file in files:
        read_metadata(file)  # says what is wrong with a file that is not Parquet
    parts = file_parts(files)
    if not parts:
        raise DataError(f"{', '.join(bind)}: no rows; bind the account to the files that train is to count")
    return parts
