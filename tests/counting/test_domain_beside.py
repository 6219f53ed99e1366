"""The domain of a file that ``NAME.domain.toml`` declares: where it is looked for, and where it goes."""

from __future__ import annotations

from pathlib import Path

from support.people import DECLARATION, people, write_people
from support.running import Run


def change(old: str, new: str, path: Path = Path("people.domain.toml")) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_file_beside_comes_after_what_is_named_and_before_metadata(people_file: Path, run: Run) -> None:
    run("domain", "edit", people_file)
    change("upper = 100", "upper = 90")
    villages = "\n[villages]\nlabel = { column = 'x', classes = [1, 2] }\nattributes.y = { values = [1] }\n"
    Path("datasets.toml").write_text(DECLARATION.replace("upper = 100", "upper = 80") + villages)
    for options, upper in (([], 90), (["--dataset", "people"], 80), (["--dataset", "datasets.toml"], 80)):
        assert f"age        numeric      0 to {upper}, step 1" in run("domain", "show", people_file, *options).out


def test_files_agree_on_a_domain_wherever_it_is_declared(people_file: Path, run: Run) -> None:
    write_people(Path("more.parquet"), people(500, seed=7))
    run("domain", "edit", people_file)
    run("train", people_file, "more.parquet", "--output", "one.json")
    change("upper = 100", "upper = 90")
    refused = run("train", people_file, "more.parquet", "--output", "two.json", expected=78)
    assert "do not all carry the same domain" in refused.err
    run("domain", "edit", "more.parquet")
    change("upper = 100", "upper = 90", Path("more.domain.toml"))
    run("train", people_file, "more.parquet", "--output", "two.json")


def test_parts_and_public_files_have_the_domain_beside_them(people_file: Path, run: Run) -> None:
    """A part carries what its file was declared by; a public file of another domain is refused."""
    write_people(Path("public.parquet"), people(500, seed=7))
    public = ("--attribute-weights", "public.parquet", "--mechanism", "histogram", "--output", "model.json")
    run("domain", "edit", people_file)
    change("upper = 100", "upper = 90")
    run("split", people_file)
    assert "0 to 90" in run("domain", "show", "people.train.parquet").out
    assert "0 to 100" not in run("domain", "show", "people.test.parquet").out
    assert "public.parquet" in run("train", people_file, *public, expected=78).err
    run("domain", "edit", "public.parquet")
    change("upper = 100", "upper = 90", Path("public.domain.toml"))
    run("train", people_file, *public)
