"""What trains and scores with scikit-learn.

scikit-learn loads pandas where it is installed, which takes half as long again as scikit-learn itself and is of no use
here. It is measured as in an environment without pandas.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import Any


class WithoutPandas(MetaPathFinder):
    """Finds no pandas, and leaves every other module to others."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuse pandas as if it were not installed."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not to be loaded", name="pandas")


sys.meta_path.insert(0, WithoutPandas())
