"""Pages and figures. A page stands alone: it needs no other file, no network and no script."""
