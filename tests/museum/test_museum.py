"""Files of every format that ever landed are read as they were, or refused as they were."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.mechanisms import MECHANISMS
from support.museum import COMMITS, MUSEUM, READINGS, files_of, reading, unpack
from write_museum import COMMITS as WRITTEN

import dpnb_columnar as dpnb
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES
from dpnb_columnar.counting.answer_files import FORMATS
from dpnb_columnar.evaluation.released_scores import VERSION as SCORES

LARGEST = 150_000
"""Bytes of what was written."""

NEWEST = [*WRITTEN][-1]

EXPECTED: dict[str, dict[str, str]] = json.loads(READINGS.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("commit", COMMITS)
def test_files_of_earlier_programs_say_what_they_said(commit: str, tmp_path: Path) -> None:
    unpack(commit, tmp_path)
    assert {name: reading(tmp_path, name) for name in files_of(tmp_path)} == EXPECTED[commit]


@pytest.mark.slow
def test_the_museum_has_models_of_every_mechanism_and_noise(tmp_path: Path) -> None:
    shown: set[Any] = set()
    for commit in COMMITS:
        folder = tmp_path / commit
        unpack(commit, folder)
        for path in folder.glob("*.json"):
            if ".scores" not in path.name and not EXPECTED[commit][path.name].startswith("refused"):
                model = dpnb.load_model(path)
                shown |= {model.guarantee.mechanism, model.guarantee.noise}
    families = {name.partition("-NU")[0] for name in NOISE_FAMILIES}
    assert {*MECHANISMS} - {"none"} <= shown
    assert families <= {str(each) for each in shown}


def test_the_museum_has_every_other_format_of_today(tmp_path: Path) -> None:
    unpack(NEWEST, tmp_path)
    read = [tmp_path / name for name, said in EXPECTED[NEWEST].items() if not said.startswith("refused")]
    keys = {key for path in read if path.suffix == ".parquet" for key in pq.read_metadata(path).metadata or {}}
    assert {kind.key.encode() for kind in FORMATS.values()} <= keys
    assert {".ledger", ".witness"} <= {path.suffix for path in read}
    scores = [json.loads(path.read_text())["version"] for path in read if path.name.endswith(".scores.json")]
    assert max(scores) == SCORES


def test_nothing_of_the_museum_is_taken_away_or_names_a_machine() -> None:
    assert set(COMMITS) == set(WRITTEN) == set(EXPECTED)
    assert sum(path.stat().st_size for path in MUSEUM.glob("*.xz")) <= LARGEST
    for commit in COMMITS:
        with tarfile.open(MUSEUM / f"{commit}.tar.xz") as archive:
            for member in archive:
                content = archive.extractfile(member)
                assert content is not None
                assert not any(root in content.read() for root in (b"/tmp/", b"/home/", b"/work/", b"/root/"))
