-- Exact cell counts of the rows that fit the declared domain. CONFIDENTIAL: every number returned is a count of rows.
--
-- Each section below is one named query or one named expression. `@name` is a slot: it takes another section or a quoted
-- identifier. `$name` is a bound parameter: every constant of the domain travels that way, none is pasted into the text.

-- name: cells
-- Returns one row per non-empty cell: class BIGINT, one column per counted attribute (its key or grid code; NULL where
-- the cell belongs to another attribute, or the category is missing), cell BIGINT (bit i, from the right, is 0 where the
-- i-th last attribute is the cell's own; all bits 1 for the class counts), rows BIGINT.
-- Parameters: files VARCHAR[], the Parquet files; the constants of the sections used.
WITH labelled AS (
    SELECT @class AS class, @columns
    FROM read_parquet($files, hive_partitioning = false)
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
    FROM read_parquet($files, hive_partitioning = false)
    WHERE @fits
)
SELECT class, count(*) AS rows
FROM labelled
WHERE class IS NOT NULL
GROUP BY class

-- name: number
CAST(@column AS DOUBLE)

-- name: number_of_float
-- NaN is null.
CASE WHEN isnan(@column) THEN NULL ELSE CAST(@column AS DOUBLE) END

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
CAST(@column AS BIGINT)

-- name: key_of_unsigned
CAST(least(@column, 9007199254740992) AS BIGINT)

-- name: key_of_float
-- Whole numbers match by value; 2^53 matches no category.
CASE
    WHEN isnan(@column) THEN NULL
    WHEN abs(CAST(@column AS DOUBLE)) <= 9007199254740991 AND CAST(@column AS DOUBLE) = floor(CAST(@column AS DOUBLE))
        THEN CAST(@column AS BIGINT)
    WHEN @column IS NOT NULL THEN 9007199254740992
END

-- name: key_of_boolean
@column

-- name: key_of_text
CAST(@column AS VARCHAR)

-- name: fits_present
@value IS NOT NULL

-- name: fits_known
coalesce(@value IN (@known), false)

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
