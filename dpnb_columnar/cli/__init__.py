"""The command line: one module per verb, thin over the library. Importing it loads no engine."""
