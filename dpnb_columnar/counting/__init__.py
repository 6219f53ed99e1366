"""The private side: from rows to statistics, and the files that hold them. CONFIDENTIAL."""
