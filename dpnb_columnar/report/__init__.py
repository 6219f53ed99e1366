"""The report of a reproduction: one page that stands alone, and its figures and their numbers as files."""

from dpnb_columnar.report.write import write_report

__all__ = ["write_report"]
