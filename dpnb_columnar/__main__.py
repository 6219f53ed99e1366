"""``python -m dpnb_columnar``."""

from dpnb_columnar.commands.main import run

run()
