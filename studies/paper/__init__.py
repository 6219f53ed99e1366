"""Studies on public data: the evaluation of Zafarani and Clifton 2021 (section 5 and appendix), run again and reported.

Rows are read by name here and results are exact. What is measured on public data sets may be shown; what would be
measured on other rows is confidential.
"""
