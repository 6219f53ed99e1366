"""Advice on the mechanism to choose: a rehearsal on invented rows, without any real row or file.

It is a function of the domain, the budget and a public number of rows.
"""
