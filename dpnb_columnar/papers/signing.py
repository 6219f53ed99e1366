"""What a disclosure committee asks beside the numbers of a model, as the release sheet's template takes it. Public.

Who signs, whose rows, what was chosen beside what others published, how good it is, what was tested, what is not
stated.
"""

from __future__ import annotations

from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain.names import named
from dpnb_columnar.evaluation.group_figures import BY_CHANCE
from dpnb_columnar.evaluation.released_scores import ReleasedScores, rows_text
from dpnb_columnar.ledger.refusals import format_amount
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.papers.office_words import (
    HEADER,
    PUBLISHED_CHOICES,
    REMARK,
    UNRECORDED_REASON,
    PublishedChoice,
    account_words,
    glossary,
    mechanism_words,
    neighbour_words,
    noise_words,
    unit_words,
    weight_words,
)
from dpnb_columnar.papers.release_papers import AuditReport, ReleasePapers
from dpnb_columnar.papers.release_record import WORDS
from dpnb_columnar.report.evaluation_page import group_parts

APPROVAL_HEADER = ("as", "name", "date", "signature")

AUDIT_HEADER = ("noise", "weights", "protects", "neighbours", "claimed epsilon", "largest found", "lower bound", "held")

BLANK_APPROVALS = [["", "", "", ""]] * 2
"""Lines to fill in where no approval is stated."""


def signing_content(model: NaiveBayes, papers: ReleasePapers) -> dict[str, object]:
    """Return the variables of the template that a signer's questions need."""
    record = papers.record
    approvals = [[each.role, each.name, each.date, ""] for each in record.approvals]
    return {
        "head": record.stated("author", "date", "published", "contact"),
        "approval_header": APPROVAL_HEADER,
        "approvals": approvals or BLANK_APPROVALS,
        "stated_for": [
            *record.stated("purpose", "out_of_scope", "rows", "region", "period", "source", "citation", "sector"),
            *([("curators", "; ".join(each.name for each in record.curators))] if record.curators else []),
            *record.stated("actors"),
        ],
        "stated_why": record.stated("justification", "preparation", "releases", "new_rows", "further_releases"),
        "chosen": chosen(model),
        "unrecorded_reason": UNRECORDED_REASON,
        "published": (HEADER, [_own_choice(model, papers), *PUBLISHED_CHOICES]),
        "published_remark": REMARK,
        "score": None if papers.scores is None else score_rows(papers.scores),
        "groups": group_parts(papers.scores.figures.groups if papers.scores else (), model.domain),
        "by_chance": BY_CHANCE,
        "score_cost": "" if papers.scores is None else epsilon_text(papers.scores.guarantee),
        "apart": apart_words(papers),
        "holdout": record.texts.get("holdout", ""),
        "scores_paid": papers.account is not None,
        "audit": papers.audit,
        "audit_table": None if papers.audit is None else audit_rows(model, papers.audit),
        "made_by": model.software.get("dpnb-columnar", "unknown"),
        "output_check": record.texts.get("output_check", ""),
        "limitations": record.texts.get("limitations", ""),
        "account": None if papers.account is None else account_words(papers.account),
        "charged": papers.charged,
        "glossary": glossary(model, scores=papers.scores is not None),
        "not_stated": [WORDS[key] for key in record.beside(model.domain).not_stated],
    }


def _own_choice(model: NaiveBayes, papers: ReleasePapers) -> PublishedChoice:
    """State the model's guarantee as a row of the table of what others have published."""
    curators = "; ".join(each.name for each in papers.record.curators)
    product = papers.record.texts.get("title", model.domain.name)
    protects = unit_words(model.domain) if model.guarantee.private else "nobody"
    return PublishedChoice(curators or "this release", product, protects, epsilon_text(model.guarantee), "this model")


def epsilon_text(guarantee: Guarantee) -> str:
    """State the amounts of a guarantee."""
    if guarantee.epsilon is None:
        return "none: the mechanism protects nobody"
    delta = f", delta {format_amount(guarantee.delta)}" if guarantee.delta else ""
    rho = "" if guarantee.rho is None else f"; implied by rho {format_amount(guarantee.rho)}"
    seeded = "; void, since the noise came from a seed and can be subtracted" if guarantee.seeded else ""
    return f"epsilon {format_amount(guarantee.epsilon)}{delta}{rho}{seeded}"


def chosen(model: NaiveBayes) -> list[tuple[str, str]]:
    """List what was chosen for a release, in the office's words."""
    guarantee = model.guarantee
    facts = [("strength", epsilon_text(guarantee))]
    if guarantee.neighbours is not None:
        facts.append(("protected as a whole", unit_words(model.domain)))
        facts.append(("what nobody can tell apart", neighbour_words(guarantee.neighbours, guarantee.unit)))
    facts.append(("released", f"{mechanism_words(guarantee)} (mechanism {guarantee.mechanism})"))
    families = {share.noise: noise_words(share) for share in guarantee.composition}
    if families:
        facts.append(("noise", "; ".join(f"{words} ({name})" for name, words in families.items())))
    facts.append(("weights of attributes", weight_words(model)))
    return facts


def score_rows(scores: ReleasedScores) -> tuple[str, list[list[str]]]:
    """State the figures of released scores: a caption, and rows of a figure and its value with its interval."""
    figures = scores.figures
    low, high = figures.rows_interval
    rows = [
        ["accuracy", str(figures.accuracy)],
        [f"accuracy of always predicting {figures.majority_class}", str(figures.majority)],
        ["difference of the two", str(figures.gain)],
        ["balanced accuracy", str(figures.balanced_accuracy)],
    ]
    if figures.auc is not None:
        rows.append(["AUC: how often a row of the second class is ranked above one of the first", str(figures.auc)])
    return f"Figures of {low:,.0f} to {high:,.0f} {rows_text(scores.domain)}, with {figures.level:.0%} intervals", rows


def apart_words(papers: ReleasePapers) -> str:
    """Say what a ledger knows of how scored rows were held out; empty where it knows nothing."""
    if papers.apart is None:
        return ""
    whole = f"No unit of {named(papers.apart)}" if papers.apart else "No row"
    together = "" if papers.apart else "; rows that are equal in all columns were kept together"
    return (
        f"{whole} is both among those that the model was trained on and among those that were scored: split divided "
        f"them, by what the files told when the ledger was charged{together}."
    )


def audit_rows(model: NaiveBayes, report: AuditReport) -> tuple[tuple[str, ...], list[list[str]]]:
    """State what an audit measured of the model's mechanism: a header, and rows."""
    return AUDIT_HEADER, [
        [
            each.noise or "its own",
            each.weights or "none",
            each.protected,
            each.neighbours,
            each.claimed,
            _bound(each.loss),
            _bound(each.bound),
            "yes" if each.holds else "NO",
        ]
        for each in report.of(model)
    ]


def _bound(epsilon: float | None) -> str:
    return "infinite" if epsilon is None else f"{epsilon:.3f}"
