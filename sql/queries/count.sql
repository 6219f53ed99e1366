WITH "read" AS (
  SELECT
    CASE
      WHEN CAST("source"."INCWAGE" AS DOUBLE) IN (CAST('999998.0' AS DOUBLE), CAST('999999.0' AS DOUBLE))
      THEN NULL
      ELSE CAST("source"."INCWAGE" AS DOUBLE)
    END > CAST('1000.0' AS DOUBLE) AS "class",
    CAST(CAST(LEAST(GREATEST("source"."RACE", 0), 10) AS INT) - 0 AS USMALLINT) AS "digit_0_0",
    CAST(LEAST(
      COALESCE(
        ENUM_CODE(
          TRY_CAST(CAST("source"."RELATE" AS TEXT) AS ENUM('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13'))
        ),
        LIST_POSITION(
          [
            CAST('1.0' AS DOUBLE),
            CAST('2.0' AS DOUBLE),
            CAST('3.0' AS DOUBLE),
            CAST('4.0' AS DOUBLE),
            CAST('5.0' AS DOUBLE),
            CAST('6.0' AS DOUBLE),
            CAST('7.0' AS DOUBLE),
            CAST('8.0' AS DOUBLE),
            CAST('9.0' AS DOUBLE),
            CAST('10.0' AS DOUBLE),
            CAST('11.0' AS DOUBLE),
            CAST('12.0' AS DOUBLE),
            CAST('13.0' AS DOUBLE)
          ],
          TRY_CAST(REGEXP_EXTRACT(
            REGEXP_EXTRACT(
              CAST("source"."RELATE" AS TEXT),
              '^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *$'
            ),
            '^.{1,64}$'
          ) AS DOUBLE)
        ) - 1
      ),
      13
    ) AS USMALLINT) AS "digit_0_1",
    CAST(CAST(LEAST(GREATEST("source"."EDUC", -1), 12) AS INT) - -1 AS USMALLINT) AS "digit_0_2",
    CAST(CAST(LEAST(GREATEST("source"."MARST", 0), 7) AS INT) - 0 AS USMALLINT) AS "digit_0_3",
    CAST(CAST(LEAST(GREATEST("source"."CLASSWKR", -1), 3) AS INT) - -1 AS USMALLINT) AS "digit_1_0",
    CAST(CAST(LEAST(GREATEST("source"."NATIVITY", -1), 6) AS INT) - -1 AS USMALLINT) AS "digit_1_1",
    CAST(CAST(LEAST(GREATEST("source"."EMPSTAT", -1), 4) AS INT) - -1 AS USMALLINT) AS "digit_1_2",
    CAST(CAST(LEAST(GREATEST("source"."SEX", 0), 3) AS INT) - 0 AS USMALLINT) AS "digit_1_3",
    CAST(CAST(LEAST(GREATEST("source"."URBAN", 0), 3) AS INT) - 0 AS USMALLINT) AS "digit_1_4"
  FROM READ_PARQUET($files, union_by_name := TRUE, hive_partitioning := FALSE) AS "source"
), "coded" AS (
  SELECT
    CAST("class" AS USMALLINT) | (
      "digit_0_0" * CAST(2 AS USMALLINT)
    ) | (
      "digit_0_1" * CAST(32 AS USMALLINT)
    ) | (
      "digit_0_2" * CAST(512 AS USMALLINT)
    ) | (
      "digit_0_3" * CAST(8192 AS USMALLINT)
    ) AS "key_0",
    CAST("class" AS USMALLINT) | (
      "digit_1_0" * CAST(2 AS USMALLINT)
    ) | (
      "digit_1_1" * CAST(16 AS USMALLINT)
    ) | (
      "digit_1_2" * CAST(128 AS USMALLINT)
    ) | (
      "digit_1_3" * CAST(1024 AS USMALLINT)
    ) | (
      "digit_1_4" * CAST(4096 AS USMALLINT)
    ) AS "key_1"
  FROM "read"
  WHERE
    NOT "class" IS NULL
)
SELECT
  "key_0",
  "key_1",
  COUNT(*) AS "count"
FROM "coded"
GROUP BY
  GROUPING SETS (
    ("key_0"),
    ("key_1")
  )
