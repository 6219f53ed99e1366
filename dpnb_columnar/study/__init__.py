"""Studies on public data: how accurate released models are. Nothing here is private, nothing is released."""
