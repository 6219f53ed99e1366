"""Tables of lakes: the live rows of one snapshot of a Delta or an Iceberg table."""
