"""Give wheels and sdists the version as a file: where they are unpacked no repository tells the commit."""

from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class VersionFile(BuildHookInterface[Any]):
    """Adds the file; the checkout itself is not written to. What is built of an sdist has it already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the version that ``dpnb_columnar/version.py`` finds here.

        Args:
            version: ``standard``, or ``editable`` for what stays in the checkout and asks it each time.
            build_data: What is added to the build.
        """
        module = run_path(str(Path(self.root, "dpnb_columnar", "version.py")))
        inside = f"dpnb_columnar/{module['BUILT']}"
        if version == "editable" or Path(self.root, inside).is_file():
            return
        self.folder = TemporaryDirectory()
        written = Path(self.folder.name, module["BUILT"])
        written.write_text(module["__version__"] + "\n", encoding="ascii")
        build_data["force_include"][str(written)] = inside

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was written.

        Args:
            version: As of ``initialize``.
            build_data: What was added to the build.
            artifact_path: What was built.
        """
        if hasattr(self, "folder"):
            self.folder.cleanup()
