"""Codebooks for tests: random ones, and writers of each form that a codebook can have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

from dpnb_columnar.domain import Attribute, Domain, Label
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.declared_domain import UnlabelledDomain, document_of
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut, domain_of

DDI = "ddi:codebook:2_5"
INTERVALS = {Measure.CONTINUOUS: "contin", Measure.DISCRETE: "discrete"}


def variable(name: str, **changes: object) -> Variable:
    """A discrete number of one character at the beginning of the line, with changes."""
    usual = {"form": Form.NUMBER, "measure": Measure.DISCRETE, "start": 0, "width": 1}
    return Variable(name, **{**usual, **changes})  # type: ignore[arg-type]


def codes(**labels: str) -> tuple[Code, ...]:
    """Codes from ``_01="Male"``: the underscore is not part of a code."""
    return tuple(Code(value.removeprefix("_"), label) for value, label in labels.items())


def codebook(variables: Iterable[Variable], **changes: object) -> Codebook:
    """A rectangular codebook of these variables, with changes."""
    usual = {"name": "town", "collection": "", "record_types": (), "record_type_variable": None}
    return Codebook(**{"source": "town.xml", **usual, "variables": tuple(variables), **changes})  # type: ignore[arg-type]


def ddi_of(book: Codebook, namespace: str = DDI) -> str:
    key = """ keyvar='SERIAL'"""
    groups = "".join(
        f"<recGrp{key if place else ''} recidvar={quoteattr(book.record_type_variable or '')} "
        f"rectype={quoteattr(kind)}><labl>Record</labl></recGrp>"
        for place, kind in reversed(list(enumerate(book.record_types)))  # IPUMS names the innermost first
    )
    structure = "hierarchical" if book.record_types else "rectangular"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<codeBook ID={quoteattr(f"ddi2-1-{book.name}.dat-{book.collection}")} xmlns="{namespace}" version="2.5">'
        "<docDscr><citation><titlStmt><titl>Codebook</titl></titlStmt></citation></docDscr>"
        f"<fileDscr><fileTxt><fileName>{escape(book.name)}.dat</fileName>"
        f'<fileStrc type="{structure}">{groups}</fileStrc>'
        f'<fileType charset="{book.encoding.upper()}">data file</fileType></fileTxt></fileDscr>'
        f"<dataDscr>{''.join(map(_var_of, book.variables))}</dataDscr></codeBook>"
    )


def _var_of(one: Variable) -> str:
    where = "" if one.start is None else f'StartPos="{one.start + 1}" EndPos="{one.start + (one.width or 0)}" '
    width = "" if one.width is None else f'width="{one.width}"'
    categories = "".join(
        f"<catgry>\n  <catValu>{escape(code.value)}</catValu><labl>{escape(code.label)}</labl></catgry>"
        for code in one.codes
    )
    kinds = f"rectype={quoteattr(' '.join(one.record_types))}" if one.record_types else ""
    return (
        f'<var ID="V" name={quoteattr(one.name)} dcml="{one.decimals}" intrvl="{INTERVALS[one.measure]}" {kinds}>'
        f"<location {where}{width}/><labl>{escape(one.label)}</labl><txt>A long story.</txt>{categories}"
        f"<concept>{escape(one.concept)}</concept><universe>{escape(one.universe)}</universe>"
        f'<varFormat schema="other" type="{"character" if one.form is Form.TEXT else "numeric"}"/></var>'
    )


def layout_of(book: Codebook) -> str:
    lines = [f"{key} = {toml(getattr(book, key))}" for key in ("name", "collection", "encoding")]
    if book.record_types:
        lines += [f"record_types = {toml(book.record_types)}"]
        lines += [f"record_type_variable = {toml(book.record_type_variable)}"]
    for one in book.variables:
        lines += ["[[variable]]", f"name = {toml(one.name)}"]
        if one.start is not None:
            lines += [f"columns = [{one.start + 1}, {one.start + (one.width or 0)}]"]
        if one.record_types:
            lines += [f"record_types = {toml(one.record_types)}"]
        lines += [f"{key} = {toml(getattr(one, key))}" for key in ("form", "measure", "decimals")]
        lines += [f"{key} = {toml(getattr(one, key))}" for key in ("label", "concept", "universe")]
        lines += ["[variable.codes]", *(f"{toml(code.value)} = {toml(code.label)}" for code in one.codes)]
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def labelled(domain: UnlabelledDomain, condition: str = "SOMETHING > 0") -> Domain:
    """The domain with a label, read back from its declaration: so every rule for declarations has been kept."""
    attributes: tuple[Attribute, ...] = tuple(one for one in domain.attributes if one.name != condition.split()[0])
    label = Label(("no", "yes"), None, parse_condition(condition))
    worded = Domain(
        domain.name, label, attributes, **{**domain.shared_fields, "available_unit": (), "available_weight": None}
    )
    return read_domain(domain.name, document_of(worded), "test")


# Letters that survive XML and TOML; a label is one line without blanks at its ends, as readers make it.
LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co", "Z"))
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=8), max_size=4).map(" ".join)
PHRASES = st.sampled_from(["NIU", "N/A", "Missing", "Unknown", "1", "2 children", "3+", "Under 1 year", "Blank", ""])
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,7}", fullmatch=True)
CODES_OF_NUMBERS = st.from_regex(r"-?[0-9]{1,4}", fullmatch=True)
CODES_OF_TEXT = st.text(LETTERS, min_size=1, max_size=3)


@st.composite
def codebooks(draw: st.DrawFn) -> Codebook:
    """Any codebook that fits an extract, rectangular or of two record types."""
    hierarchical = draw(st.booleans())
    kinds = ("H", "P") if hierarchical else ()
    names = draw(st.lists(NAMES.filter(lambda name: name != "KIND"), min_size=1, max_size=6, unique=True))
    ends = {"H": 1, "P": 1, "": 0}
    found = [variable("KIND", form=Form.TEXT, record_types=kinds)] if hierarchical else []
    for name in names:
        on = (draw(st.sampled_from(kinds)),) if hierarchical else ()
        start = ends[on[0] if on else ""] + draw(st.integers(0, 3))
        width = draw(st.integers(1, 12))
        ends[on[0] if on else ""] = start + width
        form = draw(st.sampled_from(Form))
        values = draw(st.lists(CODES_OF_NUMBERS if form is Form.NUMBER else CODES_OF_TEXT, max_size=15, unique=True))
        found.append(
            variable(
                name,
                form=form,
                measure=draw(st.sampled_from(Measure)),
                start=start,
                width=width,
                decimals=draw(st.integers(0, width)) if form is Form.NUMBER and draw(st.booleans()) else 0,
                record_types=on,
                label=draw(WORDS),
                concept=draw(WORDS),
                universe=draw(WORDS),
                codes=tuple(Code(value, draw(PHRASES | WORDS)) for value in values),
            )
        )
    return codebook(
        found,
        collection=draw(st.sampled_from(["", "usa.ipums.org", "cps.ipums.org"])),
        record_types=kinds,
        record_type_variable="KIND" if hierarchical else None,
        encoding=draw(st.sampled_from(["utf-8", "iso-8859-1"])),
    )


def made(one: Variable, collection: str = "") -> Attribute | str:
    """The attribute that a variable makes, or why it makes none."""
    domain, left_out = domain_of(codebook([one], collection=collection))
    assert len(domain.attributes) + len(left_out) == 1
    if left_out:
        assert left_out == (LeftOut(one.name, left_out[0].reason),)
        return left_out[0].reason
    (attribute,) = labelled(domain).attributes  # the declaration can be read back
    assert attribute == domain.attributes[0]
    return attribute


def amount(name: str, width: int | None, decimals: int = 0, *listed: Code) -> Variable:
    """A continuous number."""
    return variable(name, width=width, decimals=decimals, measure=Measure.CONTINUOUS, codes=listed)
