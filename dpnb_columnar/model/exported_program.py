"""A model as one file in another language, which scores rows as ``predict`` does, and without this program.

The tree is that of the queries (``score_steps``), put together attribute by attribute; ``dialects`` has a writer for
each language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from dpnb_columnar.dialects.nodes import as_column, case, double, plus
from dpnb_columnar.dialects.programs import TABLES, Block, Input, Output, Program, ProgramWriter
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.attributes import missing_texts
from dpnb_columnar.domain.column_kinds import Kind, number_keys
from dpnb_columnar.domain.declared_domain import class_texts, label_remarks, predicts
from dpnb_columnar.domain.names import did_you_mean, is_printable, listed
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import CONFIDENTIAL, UsageError, excerpt, option
from dpnb_columnar.model.export_targets import Target
from dpnb_columnar.model.guarantee import statement
from dpnb_columnar.model.joined_query import model_key
from dpnb_columnar.model.likelihood import class_terms, missing_terms
from dpnb_columnar.model.parameters import AttributeParameters, NaiveBayes, Normal
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.score_steps import result_columns, value_read, weight_steps
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from dpnb_columnar.model.sql_terms import STEP_PREFIX, ComputedTerms, step_column
from dpnb_columnar.runtime.outputs import atomic_output

if TYPE_CHECKING:
    from dpnb_columnar.dialects.rules import Kinds


PREFIX = "nb_"
"""Begins the names of new variables in Stata, SAS and SPSS."""

MOST_TERMS = 200_000
"""Numbers of a file of statements: each is a statement of its own, or nearly so."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How a file names columns.

    Attributes:
        prefix: Begins the names of new columns; None for that of the language.
        renamed: The name in the rows of a column that has another one in the model.
    """

    prefix: str | None = None
    renamed: Mapping[str, str] | None = None


def export(
    model: NaiveBayes,
    target: Target,
    naming: Naming | None = None,
    kinds: Kinds | None = None,
) -> str | bytes:
    """Write a model in another language: a text, or the bytes of an ONNX file.

    Args:
        model: A released model.
        target: The language.
        naming: Names of columns.
        kinds: What the columns hold; without it, what the domain says: numbers, where all categories are numbers.

    Raises:
        UsageError: if the language has no such name or text, or the model is too large for it.
        UnavailableError: if ``onnx`` is not installed.
    """
    naming = naming or Naming()
    writer = _writer(target)
    program = _program(model, target, naming, kinds or {}, writer)
    if target is Target.ONNX:
        from dpnb_columnar.dialects.onnx_graph import onnx_file

        return onnx_file(program, model.domain.classes, _properties(model))
    assert writer is not None
    return writer(program).text()


def write_export(
    model: NaiveBayes,
    output: Path,
    target: Target,
    naming: Naming | None = None,
    kinds: Kinds | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a model to a file in another language, as ``export`` does; see there.

    Args:
        model: A released model.
        output: File to write; readable by its owner alone if the model has no guarantee.
        target: The language.
        naming: Names of columns.
        kinds: What the columns hold.
        overwrite: Whether an existing file is replaced.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    written = export(model, target, naming, kinds)
    content = written.encode() if isinstance(written, str) else written
    with atomic_output(output, overwrite=overwrite, confidential=not model.guarantee.private) as partial:
        partial.write_bytes(content)


def _writer(target: Target) -> type[ProgramWriter] | None:
    match target:
        case Target.ONNX:
            return None
        case Target.R:
            from dpnb_columnar.dialects.r import RWriter

            return RWriter
        case Target.STATA:
            from dpnb_columnar.dialects.stata import StataWriter

            return StataWriter
        case Target.SAS:
            from dpnb_columnar.dialects.sas import SasWriter

            return SasWriter
        case Target.SPSS:
            from dpnb_columnar.dialects.spss import SpssWriter

            return SpssWriter


def _program(
    model: NaiveBayes, target: Target, naming: Naming, kinds: Kinds, writer: type[ProgramWriter] | None
) -> Program:
    """Put the tree together, its names and texts checked.

    Raises:
        UsageError: as ``export`` says.
    """
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    terms = sum(_cells(parameters) for parameters in model.attributes)
    if writer is not None and terms > MOST_TERMS:
        raise UsageError(
            f"the model has {terms:,} terms, and a file of {target.value} holds {MOST_TERMS:,} at most; export it to "
            f"{option('to', Target.ONNX.value)}"
        )
    if target is Target.ONNX and not attributes:
        raise UsageError("the model uses no attribute, so that nothing tells a graph how many rows there are")
    held = [None if target is Target.R else _kind(each, kinds.get(each.name)) for each in attributes]
    inputs = _inputs(attributes, held, naming)
    outputs = _outputs(model, target, naming)
    _check_names(target, inputs, outputs, writer)
    for attribute, kind in zip(attributes, held, strict=True):
        if kind is Kind.TEXT:
            _check_texts(attribute, target, writer)
    if writer is not None and writer.names is not None:
        for name in model.domain.classes:
            if not is_printable(name) or (writer.padded and name != name.rstrip(" ")):
                raise UsageError(f"class {excerpt(name)}: {writer.names.language} has no such text")
    return Program(model.domain.name, tuple(_head(model)), inputs, tuple(_blocks(model, attributes, held)), outputs)


def _cells(parameters: AttributeParameters) -> int:
    return 3 * len(parameters.mean) if isinstance(parameters, Normal) else sum(map(len, parameters.probability))


def _kind(attribute: Attribute, kind: Kind | None) -> Kind:
    """Return what a column of a file without types of its own holds: numbers, or texts."""
    if kind is None:
        is_number = isinstance(attribute, Numeric) or len(number_keys(attribute.members)) == len(attribute.members)
        return Kind.FLOAT if is_number else Kind.TEXT
    is_truth = kind is Kind.BOOLEAN and isinstance(attribute, Categorical)
    return Kind.TEXT if kind in (Kind.TEXT, Kind.DATE) or is_truth else Kind.FLOAT


def _inputs(attributes: Sequence[Attribute], held: Sequence[Kind | None], naming: Naming) -> tuple[Input, ...]:
    renamed = dict(naming.renamed or {})
    names = [each.name for each in attributes]
    for name in renamed:
        if name not in names:
            remedy = did_you_mean(name, names, f"they are {listed(names)}")
            raise UsageError(f"{option('rename')}: the model uses no column {excerpt(name)}; {remedy}")
    texts = [None if kind is None else kind is Kind.TEXT for kind in held]
    return tuple(
        Input(each.name, renamed.get(each.name, each.name), is_text, isinstance(each, Numeric))
        for each, is_text in zip(attributes, texts, strict=True)
    )


def _outputs(model: NaiveBayes, target: Target, naming: Naming) -> tuple[Output, ...]:
    """Name the new columns: in R like those of ``predict``, elsewhere by the places of the classes."""
    prefix = naming.prefix if naming.prefix is not None else "" if target in (Target.R, Target.ONNX) else PREFIX
    classes, texts = model.domain.classes, class_texts(model.domain)
    width = max(len(name.encode()) for name in classes)
    columns = [(PREDICTED, "predicted", "predicted", "Predicted class", width)]
    for place, (name, text) in enumerate(zip(classes, texts, strict=True)):
        score = f"{STEP_PREFIX}joint_{place}"
        columns.append((score, f"score_{place + 1}", f"score_{name}", f"Score of class {text}", 0))
    for place, (name, text) in enumerate(zip(classes, texts, strict=True)):
        column = probability_column(name)
        columns.append((column, f"probability_{place + 1}", column, f"Probability of class {text}", 0))
    columns.append((SKIPPED, SKIPPED, SKIPPED, "Attributes left out of the row's score", 0))
    if target is Target.R:
        return tuple(Output(column, own, prefix + name, size) for column, own, name, _, size in columns)
    return tuple(Output(column, prefix + own, label, size) for column, own, _, label, size in columns)


def _check_names(
    target: Target, inputs: Sequence[Input], outputs: Sequence[Output], writer: type[ProgramWriter] | None
) -> None:
    """Refuse names that the language does not know, and two that are one."""
    rules = None if writer is None else writer.names
    taken: dict[str, str] = {}
    rename = option("rename", "COLUMN=NAME")
    for each in inputs:
        if rules is not None and (fault := rules.fault(each.name)):
            raise UsageError(f"column {excerpt(each.name)} {fault}; say what it is called there: {rename}")
        key = each.name if rules is None else rules.key(each.name)
        if key in taken:
            raise UsageError(f"columns {listed([taken[key], each.name])} are one there; rename one of them: {rename}")
        taken[key] = each.name
    own = [each.name for each in outputs]
    if target is Target.R:  # the function returns a frame of its own
        own = []
    elif target is Target.ONNX:
        prefix = outputs[-1].name.removesuffix(SKIPPED)
        own = [prefix + name for name in (PREDICTED, *TABLES, SKIPPED)]
    for name in own:
        if rules is not None and (fault := rules.fault(name)):
            raise UsageError(f"new variable {excerpt(name)} {fault}; choose another {option('prefix')}")
        if (name if rules is None else rules.key(name)) in taken:
            raise UsageError(
                f"new variable {excerpt(name)} has the name of a column; choose another {option('prefix')}"
            )


def _check_texts(attribute: Attribute, target: Target, writer: type[ProgramWriter] | None) -> None:
    """Refuse declared texts that the language cannot hold, or does not tell from others."""
    assert isinstance(attribute, Categorical)
    for text in attribute.members:
        if not text:
            fault = "is how a missing text is written there"
        elif writer is not None and writer.padded and text != text.rstrip(" "):
            fault = f"ends in a blank, which {target.value} does not tell from none"
        elif writer is not None and not is_printable(text):
            fault = f"holds a character that a file of {target.value} cannot"
        else:
            continue
        raise UsageError(
            f"column {excerpt(attribute.name)}: category {excerpt(text)} {fault}; export the model to "
            f"{option('to', Target.R.value)}"
        )


def _head(model: NaiveBayes) -> Iterator[str]:
    """Say what the file is, of whom, and what is promised."""
    domain = model.domain
    if not model.guarantee.private:
        yield CONFIDENTIAL
    yield f"Scores rows by a model of {domain.name}: {predicts(domain)}. Holds what the model holds, and no row."
    yield f"Guarantee: {statement(model.guarantee)}"
    yield f"Source: model {model_key(model)}, the first 16 digits of the SHA-256 of its JSON file."
    yield from label_remarks(domain, domain.label.columns)


def _properties(model: NaiveBayes) -> dict[str, str]:
    """Return what an ONNX file says of itself."""
    missing = {each.attribute: missing_texts(model.domain[each.attribute]) for each in model.attributes}
    return {
        "domain": model.domain.name,
        "predicts": predicts(model.domain),
        "guarantee": statement(model.guarantee),
        "source": f"model {model_key(model)}, the first 16 digits of the SHA-256 of its JSON file",
        "missing values": "; ".join(f"{name}: {', '.join(texts)}" for name, texts in missing.items() if texts),
        **({} if model.guarantee.private else {"confidential": CONFIDENTIAL}),
    }


def _blocks(model: NaiveBayes, attributes: Sequence[Attribute], held: Sequence[Kind | None]) -> Iterator[Block]:
    """Compute the scores from the left, as ``score`` does, then the probabilities of them."""
    classes = range(len(model.domain.classes))
    joint = [f"{STEP_PREFIX}joint_{klass}" for klass in classes]
    skipped = exp.column(exp.to_identifier(SKIPPED, quoted=True))
    start = [as_column(double(term), name) for name, term in zip(joint, class_terms(model), strict=True)]
    yield Block(["The classes before any attribute is looked at."], [*start, as_column(double(0), SKIPPED)])
    for place, (attribute, parameters, weight, kind) in enumerate(
        zip(attributes, model.attributes, model.weights, held, strict=True)
    ):
        computed = ComputedTerms(value_read(attribute, kind, None), attribute, parameters, weight, None)
        columns = [as_column(computed.read, f"{STEP_PREFIX}read_{place}")]
        value = step_column(f"read_{place}")
        if isinstance(attribute, Numeric):
            columns.append(as_column(computed.value(value), f"{STEP_PREFIX}value_{place}"))
            value = step_column(f"value_{place}")
        added = []
        for klass, term in enumerate(computed.terms(value.copy())):
            if term is not None:
                name = f"term_{place}_{klass}"
                columns.append(as_column(term, f"{STEP_PREFIX}{name}"))
                added.append(as_column(plus(step_column(f"joint_{klass}"), step_column(name)), joint[klass]))
        is_cell = isinstance(attribute, Categorical) and attribute.missing is Missing.CATEGORY
        if missing_terms(parameters) is None and not is_cell:
            one_more = case([(computed.left_out(value.copy()), plus(skipped, double(1)))], skipped.copy())
            added.append(as_column(one_more, SKIPPED))
        yield Block(list(_remarks(model.domain, attribute)), [*columns, *added])
    steps = [column for step in weight_steps(model, None) for column in step.columns]
    names = [PREDICTED, *map(probability_column, model.domain.classes), SKIPPED]
    predicted, *probabilities, _ = result_columns(model, names, skipped)
    yield Block(["Probabilities of the classes, and the first of the likeliest."], [*steps, *probabilities, predicted])


def _remarks(domain: Domain, attribute: Attribute) -> Iterator[str]:
    """Say what a column holds."""
    missing = missing_texts(attribute)
    codes = f"; missing: {listed(missing)}" if missing else ""
    if isinstance(attribute, Numeric):
        bounds = f"{number_text(attribute.lower)} to {number_text(attribute.upper)}"
        yield f"{attribute.name}: a number from {bounds}{codes}."
    else:
        yield f"{attribute.name}: {listed(attribute.values)}{codes}."
    yield from label_remarks(domain, [attribute.name])
