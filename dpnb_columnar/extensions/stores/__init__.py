"""Objects of stores, and files of web servers: found, pinned and read by ranges."""
