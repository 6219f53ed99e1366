-- What a database says of the size of a table: for shares of progress, and for nothing else. Public facts only, as the
-- number of rows in the footer of a file is. Queries give numbers of rows, or of pages; of a view none, since a view's
-- rows would have to be computed.
--
-- Parameters are named, :like_this; counted stands for the table.

-- name: duckdb
-- About how many rows there are.
SELECT estimated_size
FROM duckdb_tables()
WHERE
    database_name = coalesce(:catalog, current_database())
    AND schema_name = coalesce(:db, current_schema())
    AND lower(table_name) = lower(:name)

-- name: postgres
-- How many rows there were at the last ANALYZE.
SELECT CAST(reltuples AS BIGINT) FROM pg_catalog.pg_class WHERE oid = to_regclass(:table)

-- name: sqlite
-- How many rows there are: SQLite counts them faster than it hands them out.
SELECT CASE
    WHEN EXISTS(SELECT 1 FROM pragma_table_list(:name) WHERE type = 'table') THEN (SELECT COUNT(*) FROM counted)
END

-- name: pages
-- How many pages PostgreSQL's table has, and each of its partitions; null if they cannot be read by ranges of them: all
-- rows are in heaps, without other children, no policy is asked before the range, and the user may read the table, not
-- just its columns. Such reads came with PostgreSQL 14.
WITH whole AS (
    SELECT CAST(to_regclass(:table) AS OID) AS oid
), part AS (
    SELECT oid FROM whole
    UNION
    SELECT relid FROM whole CROSS JOIN pg_partition_tree(whole.oid)
)
SELECT CASE
    WHEN bool_and(
        (class.relkind = 'p' OR class.relkind = 'r' AND method.amname = 'heap' AND NOT class.relhassubclass)
        AND NOT class.relrowsecurity
        AND has_table_privilege(whole.oid, 'SELECT')
        AND CAST(current_setting('server_version_num') AS INT) >= 140000
    ) OVER ()
    THEN pg_relation_size(class.oid) / CAST(current_setting('block_size') AS BIGINT)
END
FROM whole
CROSS JOIN part
JOIN pg_catalog.pg_class AS class ON class.oid = part.oid
LEFT JOIN pg_catalog.pg_am AS method ON method.oid = class.relam

-- name: in_range
-- Condition of the rows in a range of pages, which two settings of the transaction tell.
ctid >= CAST(current_setting('dpnb.first_page') AS TID) AND ctid < CAST(current_setting('dpnb.end_page') AS TID)

-- name: lock
-- Keeps a table from being emptied or rewritten while its ranges are read, before the transaction has a snapshot. It
-- waits for no more than a query would.
LOCK TABLE counted IN ACCESS SHARE MODE
