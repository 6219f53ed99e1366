WITH "read" AS (
  SELECT
    CAST(CASE
      WHEN CAST("source"."INCWAGE" AS DOUBLE) IN (CAST('999998.0' AS DOUBLE), CAST('999999.0' AS DOUBLE))
      THEN NULL
      ELSE CAST("source"."INCWAGE" AS DOUBLE)
    END > CAST('1000.0' AS DOUBLE) AS TINYINT) AS "class",
    "source"."SEX" AS "value_0",
    "source"."RACE" AS "value_1",
    ENUM_CODE(TRY_CAST(CAST("source"."MARST" AS TEXT) AS ENUM('1', '2', '3', '4', '5', '6'))) AS "value_2",
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
          REGEXP_EXTRACT(CAST("source"."RELATE" AS TEXT), '^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+) *$'),
          '^.{1,64}$'
        ) AS DOUBLE)
      ) - 1
    ) AS "value_3",
    ENUM_CODE(
      TRY_CAST(CAST("source"."EDUC" AS TEXT) AS ENUM('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11'))
    ) AS "value_4",
    ENUM_CODE(TRY_CAST(CAST("source"."CLASSWKR" AS TEXT) AS ENUM('0', '1', '2'))) AS "value_5",
    ENUM_CODE(
      TRY_CAST(CAST("source"."NATIVITY" AS TEXT) AS ENUM('0', '1', '2', '3', '4', '5'))
    ) AS "value_6",
    ENUM_CODE(TRY_CAST(CAST("source"."URBAN" AS TEXT) AS ENUM('1', '2'))) AS "value_7",
    ENUM_CODE(TRY_CAST(CAST("source"."EMPSTAT" AS TEXT) AS ENUM('0', '1', '2', '3'))) AS "value_8"
  FROM READ_PARQUET($files, union_by_name := TRUE, hive_partitioning := FALSE) AS "source"
), "counted" AS (
  SELECT
    "class",
    "value_0",
    "value_1",
    "value_2",
    "value_3",
    "value_4",
    "value_5",
    "value_6",
    "value_7",
    "value_8",
    GROUPING(
      "value_0",
      "value_1",
      "value_2",
      "value_3",
      "value_4",
      "value_5",
      "value_6",
      "value_7",
      "value_8"
    ) AS "cell",
    COUNT(*) AS "count"
  FROM "read"
  WHERE
    NOT "class" IS NULL
  GROUP BY
    GROUPING SETS (
      ("class"),
      ("class", "value_0"),
      ("class", "value_1"),
      ("class", "value_2"),
      ("class", "value_3"),
      ("class", "value_4"),
      ("class", "value_5"),
      ("class", "value_6"),
      ("class", "value_7"),
      ("class", "value_8")
    )
)
SELECT
  *
FROM (
  SELECT
    CASE "cell"
      WHEN 511
      THEN 0
      WHEN 255
      THEN 1
      WHEN 383
      THEN 2
      WHEN 447
      THEN 3
      WHEN 479
      THEN 4
      WHEN 495
      THEN 5
      WHEN 503
      THEN 6
      WHEN 507
      THEN 7
      WHEN 509
      THEN 8
      WHEN 510
      THEN 9
    END AS "place",
    "class",
    CASE "cell"
      WHEN 511
      THEN 0
      WHEN 255
      THEN CASE "value_0" WHEN 1 THEN 0 WHEN 2 THEN 1 END
      WHEN 383
      THEN CASE "value_1"
        WHEN 1
        THEN 0
        WHEN 2
        THEN 1
        WHEN 3
        THEN 2
        WHEN 4
        THEN 3
        WHEN 5
        THEN 4
        WHEN 6
        THEN 5
        WHEN 7
        THEN 6
        WHEN 8
        THEN 7
        WHEN 9
        THEN 8
      END
      WHEN 447
      THEN "value_2"
      WHEN 479
      THEN "value_3"
      WHEN 495
      THEN "value_4"
      WHEN 503
      THEN "value_5"
      WHEN 507
      THEN "value_6"
      WHEN 509
      THEN "value_7"
      WHEN 510
      THEN "value_8"
    END AS "code",
    "count"
  FROM "counted"
)
WHERE
  NOT "code" IS NULL
