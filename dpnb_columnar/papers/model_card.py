"""The model card of a release, in Markdown: what others ask of a model before they use it. Public.

The headings are those of Hugging Face's cards, after Mitchell et al. 2019, "Model Cards for Model Reporting", with one
for the guarantee. Each holds what the model, its released scores, the audit or the record of the release holds, or says
that it is not stated.

Texts of others within Markdown, and its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.errors import command, printable
from dpnb_columnar.evaluation.group_figures import BY_CHANCE
from dpnb_columnar.model.guarantee_text import scope, statement
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.papers.release_papers import ReleasePapers
from dpnb_columnar.papers.release_record import WORDS
from dpnb_columnar.papers.release_sheet import guarantee_in_words, population_facts
from dpnb_columnar.papers.signing import apart_words, audit_rows, chosen, score_rows
from dpnb_columnar.report.evaluation_page import group_parts

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
"""Characters that may mean something in Markdown, or in the HTML and the LaTeX that stand in it."""


def escaped(text: str) -> str:
    """Write a text so that Markdown prints it as it is, in one line."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table, its cells escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"| {' | '.join(str(cell) if place == 1 else escaped(str(cell)) for cell in line)} |"
        for place, line in enumerate(lines)
    )


NOT_STATED = "Not stated."

PARAGRAPHS = "\n\n"
"""Between two of them."""


def model_card(model: NaiveBayes, papers: ReleasePapers, name: str, sha256: str) -> str:
    """Write the card of a model. Equal papers have equal cards."""
    return "\n\n".join(_parts(model, papers, name, sha256)) + "\n"


def _parts(model: NaiveBayes, papers: ReleasePapers, name: str, sha256: str) -> Iterator[str]:
    domain, guarantee = model.domain, model.guarantee
    record = papers.record.beside(domain)
    texts = record.texts
    path = f"./{name}" if name.startswith("-") else name
    yield f"# Model card: {escaped(texts.get('title', domain.name))}"
    if not guarantee.private:
        yield "**Do not publish.** This card is made from the model's numbers, and is as confidential as the rows."
    yield f"A naive Bayes classifier that {escaped(predicts(domain))}."
    yield "## Model Details"
    yield _listed(
        ("developed by", "; ".join(each.name for each in record.curators)),
        ("author", texts.get("author", "")),
        ("date", texts.get("date", "")),
        ("published on", texts.get("published", "")),
        ("model type", f"naive Bayes, {len(model.attributes)} attributes, {len(domain.classes)} classes"),
        ("file", f"{name}, SHA-256 {sha256}"),
    )
    yield "## Uses"
    yield f"### Direct Use\n\n{_prose(texts.get('purpose'))}"
    yield f"### Out-of-Scope Use\n\n{_prose(texts.get('out_of_scope'))}"
    yield f"## Bias, Risks, and Limitations\n\n{_prose(texts.get('limitations'))}"
    yield (
        "The score takes attributes for independent within a class. What it says of a person is what people like them "
        "are like in the released numbers."
    )
    yield "## How to Get Started with the Model"
    yield _code("python", f"import dpnb_columnar as dpnb\n\nscored = dpnb.load_model({path!r}).predict(rows)")
    yield _code("sh", command("predict", path, "rows.parquet", output="scored.parquet"))
    yield f"## Training Details\n\n### Training Data\n\n{_prose(texts.get('rows'))}"
    yield _listed(*((WORDS[key], texts.get(key, "")) for key in ("region", "period", "source", "citation")))
    yield _listed(*population_facts(model))
    yield f"### Training Procedure\n\n{_listed(*chosen(model))}"
    yield f"### Preprocessing\n\n{_prose(texts.get('preparation'))}"
    yield "## Privacy Guarantee"
    yield escaped(guarantee_in_words(guarantee) or statement(guarantee))
    if guarantee.private:
        yield escaped(f"Formally: {statement(guarantee)}")
        yield escaped(" ".join(scope(model.domain)))
    yield f"Why these choices: {_prose(texts.get('justification'))}"
    yield f"Who sees what, and who is trusted: {_prose(texts.get('actors'))}"
    yield "## Evaluation"
    if papers.scores is None:
        yield NOT_STATED
    else:
        caption, rows = score_rows(papers.scores)
        stated = [text for text in (apart_words(papers), texts.get("holdout", "")) if text]
        yield f"### Testing Data\n\n{_prose(PARAGRAPHS.join(stated))}"
        yield f"### Metrics\n\n{escaped(caption)}, the noise of their release included."
        groups = group_parts(papers.scores.figures.groups, domain)
        yield f"### Factors\n\n{_prose('; '.join(part.title for part in groups))}"
        yield f"### Results\n\n{table(('figure', 'value (interval)'), rows)}"
        for part in groups:
            for heading, header, figures in part.tables:
                yield f"{escaped(heading)}:\n\n{table(header, figures)}"
            yield escaped(part.verdict)
        if groups:
            yield BY_CHANCE
    if papers.audit is not None:
        verdict = "every check held" if papers.audit.holds else "NOT every check held"
        yield f"### Audit\n\nAttacks on synthetic rows, version {escaped(papers.audit.version)}: {verdict}."
        columns, attacked = audit_rows(model, papers.audit)
        if attacked:
            yield table(columns, attacked)
    if "output_check" in texts:
        yield f"### Output Check\n\n{_prose(texts['output_check'])}"
    yield "## Technical Specifications"
    yield _listed(*model.software.items(), ("digest of the domain", digest(domain)))
    yield f"## Citation\n\n{_prose(texts.get('citation'))}"
    yield f"## Model Card Authors\n\n{_prose('; '.join(record.record_authors))}"
    yield f"## Model Card Contact\n\n{_prose(texts.get('contact'))}"
    if record.not_stated:
        yield f"## Not Stated\n\n{escaped('; '.join(WORDS[key] for key in record.not_stated))}."


def _prose(text: str | None) -> str:
    """Write what a record states, paragraph by paragraph."""
    return "\n\n".join(escaped(part) for part in text.split("\n\n")) if text else NOT_STATED


def _listed(*facts: tuple[str, str]) -> str:
    """Write facts as a list."""
    return "\n".join(f"- **{escaped(key)}:** {escaped(value) if value else NOT_STATED}" for key, value in facts)


def _code(language: str, text: str) -> str:
    """Write a block of code, within a fence that is longer than any in it."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}{language}\n{text}\n{fence}"
