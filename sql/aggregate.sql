-- Exact cell counts of the rows that fit the declared domain. CONFIDENTIAL: every number returned is a count of rows.
--
-- Each section below is one named query or one named expression. `@name` is a slot: it takes another section or a quoted
-- identifier. `$name` is a bound parameter: every constant of the domain travels that way, none is pasted into the text.

-- name: session
-- Without a folder for temporary files, exact counts are never spilled to disk.
SET enable_progress_bar = false;
SET preserve_insertion_order = false;
SET temp_directory = '';

-- name: cells
-- Returns one row per non-empty cell: class BIGINT, one column per counted attribute (its key or grid code; NULL where
-- the cell belongs to another attribute, or the category is missing), cell BIGINT (bit i, from the right, is 0 where the
-- i-th last attribute is the cell's own; all bits 1 for the class counts), rows BIGINT.
-- Parameters: files VARCHAR[], the Parquet files, their columns matched by name and widened to one type; the constants of
-- the sections used.
WITH labelled AS (
    SELECT @class AS class, @columns
    FROM read_parquet($files, union_by_name = true, hive_partitioning = false)
    WHERE @fits
)
SELECT class, @names, grouping(@names) AS cell, count(*) AS rows
FROM labelled
WHERE class IS NOT NULL
GROUP BY GROUPING SETS (@sets)

-- name: classes
-- Returns one row per class that has rows: class BIGINT, rows BIGINT. Parameters: as above.
WITH labelled AS (
    SELECT @class AS class
    FROM read_parquet($files, union_by_name = true, hive_partitioning = false)
    WHERE @fits
)
SELECT class, count(*) AS rows
FROM labelled
WHERE class IS NOT NULL
GROUP BY class

-- name: number
CAST(@column AS DOUBLE)

-- name: number_of_float
-- NaN is null. Not by isnan(): DuckDB takes that for false wherever a file's statistics, which leave NaN out, hold none.
CASE WHEN isfinite(@column) OR isinf(@column) THEN CAST(@column AS DOUBLE) END

-- name: number_of_decimal
-- By its text: the direct cast is off by one unit in the last place beyond 2^53.
CAST(CAST(@column AS VARCHAR) AS DOUBLE)

-- name: without_missing
-- A declared missing value is null.
CASE WHEN @value IN (@missing) THEN NULL ELSE @value END

-- name: grid_code
-- The same operations in the same order as in Polars, so that both round alike.
least(
    CAST(floor((greatest(least(@value, @upper), @lower) - @lower) / @step + 0.5::DOUBLE) AS BIGINT),
    CAST(@cells AS BIGINT)
)

-- name: key_of_integer
@column

-- name: key_of_unsigned
-- A bare least() would take null for 2^53.
CASE WHEN @column IS NOT NULL THEN CAST(least(@column, 9007199254740992) AS BIGINT) END

-- name: key_of_float
-- Whole numbers match by value; 2^53 matches no category; NaN is null, as above.
CASE
    WHEN isfinite(@column) AND abs(@column) <= 9007199254740991 AND @column = floor(@column) THEN CAST(@column AS BIGINT)
    WHEN isfinite(@column) OR isinf(@column) THEN 9007199254740992
END

-- name: key_of_boolean
@column

-- name: key_of_date
@column

-- name: key_of_decimal
-- Always with a digit before the point.
regexp_replace(CAST(@column AS VARCHAR), '^(-?)\.', '\10.')

-- name: key_of_text
CAST(@column AS VARCHAR)

-- name: fits_present
@value IS NOT NULL

-- name: fits_known
-- Null, for a missing category, drops the row as false does; a bare IN lets the engine look values up by hash.
@value IN (@known)

-- name: fits_known_or_missing
(@value IN (@known) OR @value IS NULL)

-- name: class_of_column
CASE @value @cases END

-- name: class_case
WHEN @key THEN @code

-- name: class_of_condition
CAST(@condition AS BIGINT)

-- name: comparison
(@value @operator @constant)

-- name: negation
(NOT @part)

-- name: combination_and
(@left AND @right)

-- name: combination_or
(@left OR @right)
