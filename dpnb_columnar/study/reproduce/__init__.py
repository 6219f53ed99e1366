"""The evaluation of Zafarani and Clifton 2021 (section 5 and appendix), run again on this program's own releases.

Rows are read by name here and results are exact: what is measured on public data sets may be shown, what would be
measured on others is confidential.
"""
