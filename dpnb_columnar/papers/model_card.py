"""The model card of a release, in Markdown, and its entry of a registry: what others ask of a model. Public.

The headings are those of Hugging Face's cards, after Mitchell et al. 2019, "Model Cards for Model Reporting", with one
for the guarantee. Each holds what the model, its released scores, the audit or the record of the release holds, or says
that it is not stated.

*Entry of the Privacy Deployments Registry* (registry.opendp.org), NIST's and OpenDP's: its data stand in the repository
opendp/deployments-registry-data, one YAML file each, and JSON is YAML. The fields are those of
``schemas/deployments-schema.yaml`` there at commit 057e5d81cf60150dd3307e0cf4504b957802fb3b, whose constraints
``tests/papers/registry_schema.json`` repeats. Each field holds what the model, its released scores or the record of
the release holds; fields of which none holds anything are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from dpnb_columnar.core.budget import total
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import ConfigurationError, UsageError, command, option, printable
from dpnb_columnar.evaluation.evaluation import BY_CHANCE
from dpnb_columnar.model.guarantee_text import scope, statement
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.papers.release_papers import WORDS, ReleasePapers, ReleaseRecord
from dpnb_columnar.papers.release_sheet import (
    apart_words,
    audit_rows,
    chosen,
    guarantee_in_words,
    mechanism_words,
    neighbour_words,
    noise_words,
    population_facts,
    score_rows,
    unit_words,
    weight_words,
)
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


NEEDED = ("purpose", "region", "published", "curators", "record_authors")
"""Keys of a record without which there is no entry."""

TIER_3 = ("rows", "actors", "preparation", "justification")
"""Further keys of a record that an entry of the most complete tier states."""


def registry_entry(model: NaiveBayes, papers: ReleasePapers) -> dict[str, Any]:
    """Make the registry's entry of a model. Equal papers have equal entries, key order included."""
    guarantee, record = model.guarantee, papers.record.beside(model.domain)
    if guarantee.epsilon is None or guarantee.neighbours is None or not guarantee.private:
        raise UsageError("this model carries no guarantee, so it has no place in a registry of guarantees")
    _check_complete(record)
    texts, domain = record.texts, model.domain
    name = texts.get("title", domain.name)
    address = (name, record.curators[0].name, texts["published"][:4])
    families = {share.noise: noise_words(share) for share in guarantee.composition}
    software = ", ".join(f"{part} {version}" for part, version in model.software.items())
    variant = "Approximate DP" if guarantee.delta else "Pure DP"
    amounts = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "rho": guarantee.rho}
    facts = "\n".join(f"- {escaped(key)}: {escaped(value)}" for key, value in population_facts(model))
    return {
        "url_slug": "-".join(re.sub(r"[\W_]+", "-", part.lower()) for part in address),
        "deployment": {
            "basic": _stated(
                name=name,
                data_curators=[
                    {"data_curator_name": each.name, "data_curator_type": each.kind} for each in record.curators
                ],
                description=f"A naive Bayes classifier that {escaped(predicts(domain))}, from "
                f"{len(model.attributes)} attributes.",
                intended_use=texts["purpose"],
                data_product_type="Machine learning model",
                data_product_region=texts["region"],
                data_product_sector=texts.get("sector"),
                publication_date=texts["published"],
            ),
            "dp_variant": {
                "variant_name": variant if guarantee.rho is None else "Zero-concentrated DP",
                "data_domain": "\n\n".join(filter(None, [texts.get("rows"), facts])),
                "unprotected_quantities": _unprotected(model),
            },
            "privacy_loss": {
                "privacy_unit": "Row-level" if domain.unit is None else "Unit-level",
                "privacy_unit_details": f"Protected as a whole is {escaped(unit_words(domain))}. Adjacent are "
                f"{escaped(neighbour_words(guarantee.neighbours, guarantee.unit))}.",
                "privacy_parameters": {key: _number(amount) for key, amount in amounts.items() if amount},
                "privacy_parameters_details": escaped(statement(guarantee)),
            },
            "deployment_model": _stated(
                model_name="Central",
                actors=texts.get("actors"),
                release_type=texts.get("releases"),
                release_type_details=texts.get("further_releases"),
                data_source_type=texts.get("new_rows"),
                access_type="Non-interactive",
                access_type_details="The published model answers no further query to the rows.",
            ),
            "implementation": _stated(
                preprocessing_and_hyperparameter_tuning=texts.get("preparation"),
                mechanisms=f"Released is {escaped(mechanism_words(guarantee))}. Noise is drawn from "
                f"{escaped('; '.join(families.values()))}. Made with {escaped(software)}.",
                composition=_composition(model),
                post_processing="Probabilities, bins and weights of the classifier are computed from the released "
                f"numbers and from declared facts alone. Weights of attributes: {escaped(weight_words(model))}.",
                justification=texts.get("justification"),
                utility=_utility(papers),
                additional_information=texts.get("limitations"),
            ),
            "administrative": {
                "status": "Draft",
                "registry_authors": [*record.record_authors],
                "tier": 3 if all(key in texts for key in TIER_3) else 2,
            },
        },
    }


def _check_complete(record: ReleaseRecord) -> None:
    """Refuse a record that leaves open what an entry must have."""
    missing = [key for key in NEEDED if key in record.not_stated]
    missing += [f"curators.{place}.kind" for place, each in enumerate(record.curators, 1) if not each.kind]
    if missing:
        raise ConfigurationError(
            f"{record.source or 'no record'}: leaves open what an entry of the registry must state: "
            f"{', '.join(missing)}; state it in the file of {option('record')}"
        )


def _stated(**fields: Any) -> dict[str, Any]:
    """Leave out the fields that nothing is stated of."""
    return {name: value for name, value in fields.items() if value is not None}


def _number(amount: Fraction) -> float:
    """Return an amount as a float, never less than it is."""
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def _unprotected(model: NaiveBayes) -> str:
    weights = model.attribute_weights
    source = None if weights is None else weights.source
    public = "" if source is None else f" So does the file {escaped(source.name)}, which weights were learned from."
    return (
        "No number of the model is computed from the rows without noise. Names and types of columns, bounds, "
        f"categories and classes were declared before the rows were read, and count as public.{public}"
    )


def _utility(papers: ReleasePapers) -> str | None:
    """State the released figures; None where there are none."""
    if papers.scores is None:
        return None
    caption, rows = score_rows(papers.scores)
    return f"{caption}:\n\n" + "\n".join(f"- {escaped(figure)}: {value}" for figure, value in rows)


def _composition(model: NaiveBayes) -> str:
    """Say how the shares of the budget add up: by query, with the reason why its numbers share one cost."""
    shares: dict[tuple[str, str], list[int]] = {}
    for share in model.guarantee.composition:
        shares.setdefault((share.query.rstrip(" 0123456789"), share.composition), []).append(share.values)
    queries = "\n".join(
        f"- {escaped(query)}: {len(values)} shares, {sum(values)} numbers; {escaped(reason)}"
        for (query, reason), values in shares.items()
    )
    amounts = cost_parameters(total(model.guarantee.composition))
    whole = ", ".join(f"{name} {number_text(number)}" for name, number in amounts.items())
    return f"Sequential composition of shares that add up to {whole} exactly:\n\n{queries}"
