"""Whether what a codebook says can be true of any extract; every reader of codebooks ends here."""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

from dpnb_columnar.domain.fields import LARGEST_DECLARATION
from dpnb_columnar.domain.names import is_printable, listed
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, shown
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable

LONGEST_NAME = 256
"""Characters of a variable's name, a record type or a code."""

LONGEST_LABEL = 2000
"""Characters of a label; what is longer is cut, since labels are for people."""

MOST_VARIABLES = LARGEST_DECLARATION

MOST_CODES = 1_000_000
"""Codes of all variables together."""

LONGEST_LINE = 1_000_000
"""Characters of a line of data; nothing may stand behind."""

MOST_DECIMALS = 18
"""Implied decimals; a 64-bit float holds no more digits."""

ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "windows-1252": "windows-1252",
}
"""Encodings a codebook may name, in lower case, and how ``Codebook.encoding`` names them."""

FAULTS_SHOWN = 20


def inconsistent(source: str, faults: Sequence[Fault]) -> ConfigurationError:
    """The error for a codebook with these faults."""
    lines = "".join(f"\n  {fault}" for fault in faults[:FAULTS_SHOWN])
    more = f"\n  and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
    return ConfigurationError(
        f"{source}: the codebook does not fit any extract; get it again from where the extract comes from, or correct "
        "it:"
        f"{lines}{more}"
    )


def checked(codebook: Codebook) -> Codebook:
    """The codebook, if an extract can look as it says.

    Raises:
        ConfigurationError: With every fault found, each under its variable's name.
    """
    faults = [*_of_the_whole(codebook)]
    for variable in codebook.variables:
        faults += [Fault(shown(variable.name), problem) for problem in _of_variable(variable, codebook.record_types)]
    if not faults:  # what lies where is compared only where every place makes sense
        for kind in codebook.record_types or ("",):
            faults += _of_record(codebook, kind)
    if faults:
        raise inconsistent(codebook.source, faults)
    return codebook


def _of_the_whole(codebook: Codebook) -> Iterator[Fault]:
    variables = codebook.variables
    if not _is_name(codebook.name):
        yield Fault("name", f"the data set's name is printable text of at most {LONGEST_NAME} characters")
    if not variables:
        yield Fault("variables", "there is none")
    if len(variables) > MOST_VARIABLES:
        yield Fault("variables", f"more than {MOST_VARIABLES}")
    if sum(len(variable.codes) for variable in variables) > MOST_CODES:
        yield Fault("codes", f"more than {MOST_CODES} of all variables together")
    if any(variable.start is None for variable in variables) and any(
        variable.start is not None for variable in variables
    ):
        unplaced = [variable.name for variable in variables if variable.start is None]
        yield Fault("variables", f"{listed(unplaced)} have no place in the line, others have one")
    if codebook.encoding not in ENCODINGS.values():
        yield Fault("encoding", f"expected one of {', '.join(ENCODINGS)}, found {shown(codebook.encoding)}")
    for kind in codebook.record_types:
        if not _is_name(kind):
            yield Fault("record types", f"{shown(kind)} is no record type; give printable text")
    if len(set(codebook.record_types)) < len(codebook.record_types):
        yield Fault("record types", "one appears twice")
    if codebook.record_types and codebook.record_type_variable is None:
        yield Fault("record types", "no variable tells them apart")


def _of_variable(variable: Variable, record_types: Sequence[str]) -> Iterator[str]:
    if not _is_name(variable.name):
        yield f"a name is printable text of at most {LONGEST_NAME} characters"
    if variable.width is not None and variable.width < 1:
        yield f"its width is {variable.width}; a variable has at least one character"
    if variable.start is not None:
        if variable.width is None:
            yield "its place in the line has no end"
        elif variable.start < 0 or variable.start + variable.width > LONGEST_LINE:
            yield f"it lies outside of columns 1 to {LONGEST_LINE} of the line"
    if variable.decimals < 0 or (variable.width is not None and variable.decimals > variable.width):
        yield f"it has {shown(variable.decimals)} implied decimals in {variable.width} characters"
    if variable.decimals > MOST_DECIMALS:
        yield f"it has more than {MOST_DECIMALS} implied decimals"
    if variable.form is Form.TEXT and variable.decimals:
        yield "text has no implied decimals"
    if record_types and not variable.record_types:
        yield f"it is on no record type; the codebook has {listed(record_types)}"
    if unknown := [kind for kind in variable.record_types if kind not in record_types]:
        known = f"has {listed(record_types)}" if record_types else "is of a rectangular extract"
        yield f"record type {listed(unknown)} is unknown; the codebook {known}"
    if wrong := [code.value for code in variable.codes if code.value and not _is_name(code.value)]:
        yield f"{listed(wrong)} is no code: printable text of at most {LONGEST_NAME} characters"
    if not all(map(is_printable, (variable.label, variable.concept, variable.universe))):
        yield "its label, concept or universe holds a control character"
    if not all(is_printable(code.label) for code in variable.codes):
        yield "the label of a code holds a control character"


def _of_record(codebook: Codebook, kind: str) -> Iterator[Fault]:
    """Faults among the variables of one record type (of all, in a rectangular extract)."""
    variables = [variable for variable in codebook.variables if not kind or kind in variable.record_types]
    on = f" on record type {shown(kind)}" if kind else ""
    named = defaultdict(list)
    for variable in variables:  # engines do not tell AGE from age
        named[variable.name.casefold()].append(variable.name)
    for names in named.values():
        if len(names) > 1:
            yield Fault(shown(names[0]), f"{len(names)} variables of this name{on}")
    if kind:
        yield from _of_discriminator(codebook, kind, variables)
    placed = sorted(
        (variable.start, variable.start + variable.width, variable.name)
        for variable in variables
        if variable.start is not None and variable.width is not None
    )
    for (_, end, before), (start, _, after) in pairwise(placed):
        if start < end:
            yield Fault(shown(after), f"column {start + 1} of the line belongs to {shown(before)} as well{on}")


def _of_discriminator(codebook: Codebook, kind: str, variables: Sequence[Variable]) -> Iterator[Fault]:
    """Every line must tell its record type at the same place."""
    name = codebook.record_type_variable
    places = {(variable.start, variable.width) for variable in codebook.variables if variable.name == name}
    if all(variable.name != name for variable in variables):
        yield Fault(shown(name), f"it tells record types apart, but is not on record type {shown(kind)}")
    elif len(places) > 1:
        yield Fault(shown(name), "it tells record types apart, but stands at more than one place of the line")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and not text.isspace() and is_printable(text)


# MERGED FROM dpnb_columnar/extracts/codebooks/checks.py: Reads the bytes of a codebook, compressed or not, and never
# more of them than a codebook can sensibly have.

LARGEST_CODEBOOK = 64 * 2**20
"""Bytes after decompression; the codebook of every variable of IPUMS USA has a tenth of that."""

GZIP_SIGNATURE = b"\x1f\x8b"
CHUNK = 2**24
"""Bytes of a piece. An XML parser looks at an unfinished token again with every piece, so they must not be many."""


def chunks(path: Path) -> Iterator[bytes]:
    """The content of a codebook file piece by piece, decompressed where its first bytes say that it is gzip.

    Raises:
        MissingInputError: The file cannot be read.
        ConfigurationError: It is no whole gzip file, or larger than any codebook.
    """
    total = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
            while chunk := file.read(CHUNK):
                total += len(chunk)
                if total > LARGEST_CODEBOOK:
                    raise ConfigurationError(
                        f"{path}: larger than {LARGEST_CODEBOOK >> 20} MiB; give the codebook, not the data"
                    )
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ConfigurationError(f"{path}: ends early or is damaged; get the codebook again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; give the extract's codebook") from None


def text_of(path: Path) -> str:
    """The whole content as text.

    Raises:
        MissingInputError: The file cannot be read.
        ConfigurationError: It is too large, damaged, or not UTF-8.
    """
    try:
        return b"".join(chunks(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not UTF-8 text; save the codebook as UTF-8") from None
