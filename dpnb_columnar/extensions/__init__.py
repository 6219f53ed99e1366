"""What nobody needs in order to release a model: each folder may be deleted (``registry``)."""
