-- CONFIDENTIAL: the result of this query (duckdb) is exact counts of rows. Keep it as you keep them.
-- Domain 'person', SHA-256 bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501; scores of a model, SHA-256 a53850bd74b434602300a95cffcf01b64681fc352ab6988340e00335c84fe98a.
-- Save the result as a CSV file with a header line, then release the weights of the model from it:
--   dpnb-columnar release RESULT.csv --given MODEL.json --output CALIBRATED.json
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
    CASE WHEN NOT "class" IS NULL THEN "class" END AS "class",
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
), "scored" AS (
  SELECT
    "class",
    0 + CAST(CASE
      WHEN "code_0" IS NULL
      THEN 7
      ELSE CASE WHEN "code_0" < 30 THEN -256 WHEN "code_0" < 50 THEN 0 ELSE 300 END
    END AS BIGINT) + CAST(CASE
      WHEN "code_1" IS NULL
      THEN 0
      ELSE (
        CAST('[-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,-40,-39,-38,-37,-36,-35,-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17,-16,-15,-14,-13,-12,-11,-10,-9,-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,-40,-39,-38,-37,-36,-35,-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17,-16,-15,-14,-13,-12,-11,-10,-9,-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,-40,-39,-38,-37,-36,-35,-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17,-16,-15,-14,-13,-12,-11,-10,-9,-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,-40,-39,-38,-37,-36,-35,-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17]' AS BIGINT[])
      )[(
        0 + CAST(FLOOR(CAST("code_1" - 0 AS DOUBLE) / CAST('3.0' AS DOUBLE)) AS BIGINT)
      ) + 1]
    END AS BIGINT) + CAST(CASE
      WHEN "code_3" IS NULL
      THEN 0
      ELSE CASE WHEN "code_3" < 1 THEN -40 ELSE 60 END
    END AS BIGINT) AS "key_1",
    300 AS "score"
  FROM "coded"
), "compared" AS (
  SELECT
    "class",
    "key_1" AS "largest",
    "score"
  FROM "scored"
), "best" AS (
  SELECT
    "class",
    "largest" - "score" AS "margin"
  FROM "compared"
), "placed" AS (
  SELECT
    "class",
    CASE
      WHEN "margin" < -600
      THEN 0
      WHEN "margin" < -300
      THEN 1
      WHEN "margin" < 0
      THEN 2
      ELSE 3
    END AS "bin"
  FROM "best"
)
SELECT
  "class",
  "bin",
  COUNT(*) AS "count",
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS "domain",
  'a53850bd74b434602300a95cffcf01b64681fc352ab6988340e00335c84fe98a' AS "scores"
FROM "placed"
WHERE
  NOT "class" IS NULL
GROUP BY
  "class",
  "bin"
