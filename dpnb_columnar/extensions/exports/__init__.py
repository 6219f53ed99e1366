"""A model as a table of terms and a script that reads it, for R, Stata, SAS and SPSS, or as an ONNX graph."""

VERBS = {"export": "Write a model as a script for R, Stata, SAS or SPSS, or as an ONNX graph."}
