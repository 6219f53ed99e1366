"""The search for a codebook, and its reading, whichever form it has."""

from __future__ import annotations

from pathlib import Path

from dpnb_columnar.errors import ConfigurationError, MissingInputError
from dpnb_columnar.extracts.codebooks.codebook import Codebook
from dpnb_columnar.runtime.paths import exists, is_file

LAYOUTS = Path(__file__).parent / "layouts"
"""Layouts that come with the project."""

COMPRESSED = ".gz"


def packaged_layouts() -> tuple[str, ...]:
    """List the names of the layouts that come with the project."""
    return tuple(sorted(path.stem for path in LAYOUTS.glob("*.toml")))


def read_codebook(path: Path | str) -> Codebook:
    """Read a codebook: a file, or a layout that comes with the project.

    Args:
        path: A DDI codebook (``.xml``), a layout (``.toml``) or a PUMS data dictionary (``.csv``), each also compressed
            (``.gz``); or the name of a packaged layout, ``ipums1940``. A file of that name comes first.
    """
    file = Path(path)
    if str(path) in packaged_layouts() and not is_file(file):
        file = LAYOUTS / f"{path}.toml"
    if not exists(file):
        raise MissingInputError(
            f"{file}: no such codebook; give a file, or the name of a packaged layout ({', '.join(packaged_layouts())})"
        )
    match Path(file.name.lower().removesuffix(COMPRESSED)).suffix:
        case ".xml":
            from dpnb_columnar.extracts.codebooks.ddi import read_ddi

            return read_ddi(file)
        case ".toml":
            from dpnb_columnar.extracts.codebooks.layout import read_layout_file

            return read_layout_file(file)
        case ".csv":
            from dpnb_columnar.extracts.codebooks.pums import read_pums_dictionary

            return read_pums_dictionary(file)
    raise ConfigurationError(
        f"{file}: no codebook by its name; give a DDI codebook (.xml), a layout (.toml) or a PUMS data dictionary "
        "(.csv)"
    )


def codebook_beside(extract: Path) -> Path | None:
    """Find the DDI codebook in the folder of an extract; None where there is none.

    ``cps_00421.dat.gz`` goes with ``cps_00421.xml`` or ``cps_00421.ddi.xml``, either of them also compressed.
    """
    name = extract.name.removesuffix(COMPRESSED)
    bases = dict.fromkeys([Path(name).stem, name])  # cps_00421, then cps_00421.dat
    for base in bases:
        for suffix in (".xml", ".ddi.xml"):
            for ending in ("", COMPRESSED):
                beside = extract.with_name(f"{base}{suffix}{ending}")
                if is_file(beside) and beside != extract:
                    return beside
    return None
