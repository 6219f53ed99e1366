"""Whether a ledger was charged for a file of released values, and as which run: for ``show`` and ``ledger verify``."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpnb_columnar.ledger import Ledger


def payment(file: Path, ledger: Ledger) -> tuple[bool, str]:
    """Return whether a ledger was charged for a model, or for released scores, and a line that says as which run.

    A ledger keeps the document of every release. So it knows a model whatever form its file has: JSON, byte for byte as
    it was kept or written anew, or Parquet.
    """
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
