"""Write the pictures of a release sheet and of an evaluation: ``python docs/write_pictures.py`` where Chromium is.

The rows are simulated, so that the evaluation, which would be confidential, shows nobody.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import dpnb_columnar as dpnb
from dpnb_columnar.cli.main import exit_code

PICTURES = Path(__file__).parent / "pictures"
SIZES = {"sheet": "900,1000", "evaluation": "900,900"}
"""Pictures by name, and what part of the page they show: width and height from its top."""
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND")


def write_pages(folder: Path) -> None:
    """Simulate, train, and write the pages of the model and of its evaluation."""
    census = dpnb.simulate(folder / "census.parquet", rows=60_000)
    outputs = {f"{part}_output": folder / f"{part}.parquet" for part in ("train", "test")}
    training, held_out = dpnb.split(census, **outputs)
    model = folder / "census.model.json"
    dpnb.train(training, epsilon=1).save(model)
    record = {
        "title": "Who earned more than 1,000 dollars",
        "purpose": "Shows what a release sheet looks like; the rows are simulated",
    }
    dpnb.sheet(dpnb.load_model(model), folder / "sheet.html", record=record)
    arguments = ["evaluate", str(model), str(held_out), "--by", "SEX,RACE", "--html", str(folder / "evaluation.html")]
    assert exit_code(arguments) == 0


def main() -> int:
    """Write the pictures; end with 1 where there is no browser."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium: install it, or name a binary in $CHROMIUM")  # noqa: T201
        return 1
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_pages(folder)
        for picture, size in SIZES.items():
            page, target = (folder / f"{picture}.html").as_uri(), PICTURES / f"{picture}.png"
            options = [f"--user-data-dir={folder / 'profile'}", f"--window-size={size}", f"--screenshot={target}"]
            subprocess.run([browser, *FLAGS, *options, page], check=True, capture_output=True, timeout=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
