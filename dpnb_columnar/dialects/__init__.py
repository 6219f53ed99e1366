"""SQL for every supported database: queries are built once as a tree and rendered in each dialect."""
