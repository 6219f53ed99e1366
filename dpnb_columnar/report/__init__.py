"""Pages and figures: what a figure shows, how it is drawn, and the templates of the pages that hold it.

A page stands alone: it needs no other file, no network and no script. Its figures, and their numbers, are also written
as files beside it.
"""
