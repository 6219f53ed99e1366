-- CONFIDENTIAL: the result of this query (sqlite) is exact counts of rows. Keep it as you keep them.
-- Domain 'person', SHA-256 bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501.
-- Save the result as a CSV file with a header line, then release a model from it:
--   dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json
WITH "read" AS (
  SELECT
    CASE CAST("source"."label" AS TEXT) WHEN 'no' THEN 0 WHEN 'yes' THEN 1 END AS "class",
    CASE
      WHEN CAST("source"."age" AS REAL) IN (CAST(999 AS REAL))
      THEN NULL
      ELSE CAST("source"."age" AS REAL)
    END AS "value_0",
    CASE WHEN FALSE THEN NULL ELSE CAST("source"."wage" AS REAL) END AS "value_1",
    CAST("source"."hours" AS REAL) AS "value_2",
    CASE CAST("source"."job ""x""" AS TEXT)
      WHEN 'clerk'
      THEN 0
      WHEN 'été'
      THEN 1
      WHEN '中'
      THEN 2
      ELSE 3
    END AS "value_3",
    CAST(CAST("source"."pension" AS TEXT) AS REAL) AS "value_4",
    CASE
      WHEN LENGTH(CAST("source"."rent" AS TEXT)) <= 64
      AND NOT (
        CAST("source"."rent" AS TEXT) GLOB '*[^0-9.+ -]*'
      )
      AND CAST("source"."rent" AS TEXT) <= CAST(9e999 AS REAL)
      THEN CAST(CAST("source"."rent" AS TEXT) AS REAL)
    END AS "value_5"
  FROM person AS "source"
  LIMIT -1
  OFFSET 0
), "coded" AS (
  SELECT
    "class",
    CASE
      WHEN "value_0" - CAST(0 AS REAL) < (
        CAST(1 AS REAL) / 8
      )
      THEN 0
      WHEN "value_0" >= CAST(90 AS REAL)
      THEN 180
      ELSE CAST(CAST((
        (
          "value_0" - CAST(0 AS REAL)
        ) / (
          CAST(1 AS REAL) / 2
        )
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "code_0",
    CASE
      WHEN "value_1" - CAST(0 AS REAL) < (
        CAST(1 AS REAL) / 4
      )
      THEN 0
      WHEN "value_1" >= CAST(1000 AS REAL)
      THEN 1000
      ELSE CAST(CAST((
        (
          "value_1" - CAST(0 AS REAL)
        ) / CAST(1 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "code_1",
    CASE
      WHEN "value_2" - CAST(1 AS REAL) < (
        CAST(7 AS REAL) / 4
      )
      THEN 0
      WHEN "value_2" >= CAST(99 AS REAL)
      THEN 14
      ELSE CAST(CAST((
        (
          "value_2" - CAST(1 AS REAL)
        ) / CAST(7 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "code_2",
    "value_3" AS "code_3",
    CASE
      WHEN "value_4" - CAST(0 AS REAL) < (
        CAST(1 AS REAL) / 4
      )
      THEN 0
      WHEN "value_4" >= CAST(900 AS REAL)
      THEN 900
      ELSE CAST(CAST((
        (
          "value_4" - CAST(0 AS REAL)
        ) / CAST(1 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "code_4",
    CASE
      WHEN "value_5" - CAST(0 AS REAL) < (
        CAST(1 AS REAL) / 4
      )
      THEN 0
      WHEN "value_5" >= CAST(9 AS REAL)
      THEN 9
      ELSE CAST(CAST((
        (
          "value_5" - CAST(0 AS REAL)
        ) / CAST(1 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "code_5"
  FROM "read"
  WHERE
    NOT "class" IS NULL
  LIMIT -1
  OFFSET 0
)
SELECT
  CAST(NULL AS TEXT) AS "attribute",
  "class",
  0 AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
GROUP BY
  "class"
UNION ALL
SELECT
  'age' AS "attribute",
  "class",
  "code_0" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_0" IS NULL
GROUP BY
  "class",
  "code_0"
UNION ALL
SELECT
  'wage' AS "attribute",
  "class",
  "code_1" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_1" IS NULL
GROUP BY
  "class",
  "code_1"
UNION ALL
SELECT
  'hours' AS "attribute",
  "class",
  "code_2" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_2" IS NULL
GROUP BY
  "class",
  "code_2"
UNION ALL
SELECT
  'job "x"' AS "attribute",
  "class",
  "code_3" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_3" IS NULL
GROUP BY
  "class",
  "code_3"
UNION ALL
SELECT
  'pension' AS "attribute",
  "class",
  "code_4" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_4" IS NULL
GROUP BY
  "class",
  "code_4"
UNION ALL
SELECT
  'rent' AS "attribute",
  "class",
  "code_5" AS "code",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain"
FROM "coded"
WHERE
  NOT "code_5" IS NULL
GROUP BY
  "class",
  "code_5"
