-- CONFIDENTIAL: the result of this query (duckdb) is exact counts of rows. Keep it as you keep them.
-- Domain 'person', SHA-256 bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501.
-- Save the result as a CSV file with a header line, then release a model from it:
--   dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json
WITH "read" AS (
  SELECT
    CASE CAST("source"."label" AS TEXT) WHEN 'no' THEN 0 WHEN 'yes' THEN 1 END AS "class",
    CASE
      WHEN CAST("source"."age" AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
      THEN NULL
      ELSE CAST("source"."age" AS DOUBLE)
    END AS "value_0",
    CASE
      WHEN NOT (
        ISFINITE(CAST("source"."wage" AS DOUBLE))
        OR ISINF(CAST("source"."wage" AS DOUBLE))
      )
      THEN NULL
      ELSE CAST("source"."wage" AS DOUBLE)
    END AS "value_1",
    CAST("source"."hours" AS DOUBLE) AS "value_2",
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
    TRY_CAST(REGEXP_EXTRACT(
      REGEXP_EXTRACT(CAST("source"."rent" AS TEXT), '^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+) *$'),
      '^.{1,64}$'
    ) AS DOUBLE) AS "value_5"
  FROM person AS "source"
  CROSS JOIN (
    SELECT
      0
  ) AS "nothing"
), "coded" AS (
  SELECT
    "class",
    CASE
      WHEN "value_0" - CAST('0.0' AS DOUBLE) < CAST('0.125' AS DOUBLE)
      THEN 0
      WHEN "value_0" >= CAST('90.0' AS DOUBLE)
      THEN 180
      ELSE CAST(FLOOR(
        (
          (
            "value_0" - CAST('0.0' AS DOUBLE)
          ) / CAST('0.5' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "code_0",
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
    CASE
      WHEN "value_2" - CAST('1.0' AS DOUBLE) < CAST('1.75' AS DOUBLE)
      THEN 0
      WHEN "value_2" >= CAST('99.0' AS DOUBLE)
      THEN 14
      ELSE CAST(FLOOR(
        (
          (
            "value_2" - CAST('1.0' AS DOUBLE)
          ) / CAST('7.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "code_2",
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
