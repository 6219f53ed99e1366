-- CONFIDENTIAL: the result of this query (duckdb) is exact counts of rows. Keep it as you keep them.
-- Domain 'person', SHA-256 bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501.
-- Save the result as a CSV file with a header line, then release a model from it:
--   dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json
WITH "read" AS (
  SELECT
    CASE CAST("source"."label" AS TEXT) WHEN 'no' THEN 0 WHEN 'yes' THEN 1 END AS "class",
    CASE
      WHEN "source"."age" < 0
      THEN 0
      WHEN "source"."age" > 1000
      THEN 1000
      ELSE "source"."age"
    END AS "value_0",
    CASE
      WHEN NOT (
        ISFINITE(CAST("source"."wage" AS DOUBLE))
        OR ISINF(CAST("source"."wage" AS DOUBLE))
      )
      THEN NULL
      ELSE CAST("source"."wage" AS DOUBLE)
    END AS "value_1",
    CASE
      WHEN "source"."hours" < 1
      THEN 1
      WHEN "source"."hours" > 99
      THEN 99
      ELSE "source"."hours"
    END AS "value_2",
    CASE CAST("source"."job ""x""" AS TEXT)
      WHEN 'clerk'
      THEN 0
      WHEN 'été'
      THEN 1
      WHEN '中'
      THEN 2
      ELSE 3
    END AS "value_3",
    CAST(CAST("source"."pension" AS TEXT) AS DOUBLE) AS "value_4",
    COALESCE(
      TRY_CAST(REGEXP_EXTRACT(
        REGEXP_EXTRACT(
          CAST("source"."rent" AS TEXT),
          '^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *$'
        ),
        '^.{1,64}$'
      ) AS DOUBLE),
      CASE
        WHEN CAST("source"."rent" AS TEXT) IN ('true', 'True', 'TRUE')
        THEN CAST('1.0' AS DOUBLE)
        WHEN CAST("source"."rent" AS TEXT) IN ('false', 'False', 'FALSE')
        THEN CAST('0.0' AS DOUBLE)
        WHEN CAST("source"."rent" AS TEXT) IN ('inf', 'Inf', 'Infinity')
        THEN CAST('inf' AS DOUBLE)
        WHEN CAST("source"."rent" AS TEXT) IN ('-inf', '-Inf', '-Infinity')
        THEN CAST('-inf' AS DOUBLE)
      END
    ) AS "value_5"
  FROM person AS "source"
  CROSS JOIN (
    SELECT
      0
  ) AS "nothing"
), "coded" AS (
  SELECT
    "class",
    "value_0" AS "code_0",
    CASE
      WHEN "value_1" - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
      THEN 0
      WHEN "value_1" >= CAST('1000.0' AS DOUBLE)
      THEN 1000
      ELSE CAST(FLOOR(
        (
          (
            "value_1" - CAST('0.0' AS DOUBLE)
          ) / CAST('1.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "code_1",
    "value_2" AS "code_2",
    "value_3" AS "code_3",
    CASE
      WHEN "value_4" - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
      THEN 0
      WHEN "value_4" >= CAST('900.0' AS DOUBLE)
      THEN 900
      ELSE CAST(FLOOR(
        (
          (
            "value_4" - CAST('0.0' AS DOUBLE)
          ) / CAST('1.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "code_4",
    CASE
      WHEN "value_5" - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
      THEN 0
      WHEN "value_5" >= CAST('9.0' AS DOUBLE)
      THEN 9
      ELSE CAST(FLOOR(
        (
          (
            "value_5" - CAST('0.0' AS DOUBLE)
          ) / CAST('1.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "code_5"
  FROM "read"
  WHERE
    NOT "class" IS NULL
), "groups" AS (
  SELECT
    CASE 0
      WHEN GROUPING("code_0")
      THEN 1
      WHEN GROUPING("code_1")
      THEN 2
      WHEN GROUPING("code_2")
      THEN 3
      WHEN GROUPING("code_3")
      THEN 4
      WHEN GROUPING("code_4")
      THEN 5
      WHEN GROUPING("code_5")
      THEN 6
      ELSE 0
    END AS "place",
    "code_0",
    "code_1",
    "code_2",
    "code_3",
    "code_4",
    "code_5",
    COUNT(*) FILTER(WHERE
      "class" = 0) AS "count_0",
    COUNT(*) FILTER(WHERE
      "class" = 1) AS "count_1"
  FROM "coded"
  GROUP BY
    GROUPING SETS (
      (),
      (
        "code_0"
      ),
      (
        "code_1"
      ),
      (
        "code_2"
      ),
      (
        "code_3"
      ),
      (
        "code_4"
      ),
      (
        "code_5"
      )
    )
), "cells" AS (
  SELECT
    "place",
    "class",
    CASE "place"
      WHEN 0
      THEN 0
      WHEN 1
      THEN CASE
        WHEN CASE
          WHEN CAST("code_0" AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
          THEN NULL
          ELSE CAST("code_0" AS DOUBLE)
        END - CAST('0.0' AS DOUBLE) < CAST('0.125' AS DOUBLE)
        THEN 0
        WHEN CASE
          WHEN CAST("code_0" AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
          THEN NULL
          ELSE CAST("code_0" AS DOUBLE)
        END >= CAST('90.0' AS DOUBLE)
        THEN 180
        ELSE CAST(FLOOR(
          (
            (
              CASE
                WHEN CAST("code_0" AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
                THEN NULL
                ELSE CAST("code_0" AS DOUBLE)
              END - CAST('0.0' AS DOUBLE)
            ) / CAST('0.5' AS DOUBLE)
          ) + CAST('0.5' AS DOUBLE)
        ) AS BIGINT)
      END
      WHEN 2
      THEN "code_1"
      WHEN 3
      THEN CASE
        WHEN CAST("code_2" AS DOUBLE) - CAST('1.0' AS DOUBLE) < CAST('1.75' AS DOUBLE)
        THEN 0
        WHEN CAST("code_2" AS DOUBLE) >= CAST('99.0' AS DOUBLE)
        THEN 14
        ELSE CAST(FLOOR(
          (
            (
              CAST("code_2" AS DOUBLE) - CAST('1.0' AS DOUBLE)
            ) / CAST('7.0' AS DOUBLE)
          ) + CAST('0.5' AS DOUBLE)
        ) AS BIGINT)
      END
      WHEN 4
      THEN "code_3"
      WHEN 5
      THEN "code_4"
      WHEN 6
      THEN "code_5"
    END AS "code",
    CASE "class" WHEN 0 THEN "count_0" WHEN 1 THEN "count_1" END AS "count"
  FROM "groups"
  CROSS JOIN (
    SELECT
      0 AS "class"
    UNION ALL
    SELECT
      1 AS "class"
  ) AS "classes"
)
SELECT
  CASE "place"
    WHEN 1
    THEN 'age'
    WHEN 2
    THEN 'wage'
    WHEN 3
    THEN 'hours'
    WHEN 4
    THEN 'job "x"'
    WHEN 5
    THEN 'pension'
    WHEN 6
    THEN 'rent'
  END AS "attribute",
  "class",
  "code" AS "code",
  CAST(SUM("count") AS BIGINT) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "cells"
WHERE
  NOT "code" IS NULL AND "count" > 0
GROUP BY
  "place",
  "class",
  "code"
