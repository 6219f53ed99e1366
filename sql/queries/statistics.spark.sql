-- CONFIDENTIAL: the result of this query (spark) is exact counts of rows. Keep it as you keep them.
-- Domain 'person', SHA-256 bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501.
-- Save the result as a CSV file with a header line, then release a model from it:
--   dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json
WITH `read` AS (
  SELECT
    CASE CAST(`source`.`label` AS STRING) WHEN 'no' THEN 0 WHEN 'yes' THEN 1 END AS `class`,
    CASE
      WHEN CAST(`source`.`age` AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
      THEN NULL
      ELSE CAST(`source`.`age` AS DOUBLE)
    END AS `value_0`,
    CASE
      WHEN NOT (
        CAST(`source`.`wage` AS DOUBLE) <= CAST('inf' AS DOUBLE)
      )
      THEN NULL
      ELSE CAST(`source`.`wage` AS DOUBLE)
    END AS `value_1`,
    CAST(`source`.`hours` AS DOUBLE) AS `value_2`,
    CASE CAST(`source`.`job "x"` AS STRING)
      WHEN 'clerk'
      THEN 0
      WHEN 'été'
      THEN 1
      WHEN '中'
      THEN 2
      ELSE 3
    END AS `value_3`,
    CAST(CAST(`source`.`pension` AS STRING) AS DOUBLE) AS `value_4`,
    CASE
      WHEN LENGTH(CAST(`source`.`rent` AS STRING)) <= 64
      AND CAST(`source`.`rent` AS STRING) RLIKE '(?s)^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+) *(?!.)'
      THEN TRY_CAST(CAST(`source`.`rent` AS STRING) AS DOUBLE)
    END AS `value_5`
  FROM person AS `source`
), `cells` AS (
  SELECT
    `class`,
    POSEXPLODE(
      CASE
        WHEN NOT `class` IS NULL
        THEN ARRAY(
          CAST(0 AS BIGINT),
          CAST(CASE
            WHEN `value_0` - CAST('0.0' AS DOUBLE) < CAST('0.125' AS DOUBLE)
            THEN 0
            WHEN `value_0` >= CAST('90.0' AS DOUBLE)
            THEN 180
            ELSE CAST(FLOOR(
              (
                (
                  `value_0` - CAST('0.0' AS DOUBLE)
                ) / CAST('0.5' AS DOUBLE)
              ) + CAST('0.5' AS DOUBLE)
            ) AS BIGINT)
          END AS BIGINT),
          CAST(CASE
            WHEN `value_1` - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
            THEN 0
            WHEN `value_1` >= CAST('1000.0' AS DOUBLE)
            THEN 1000
            ELSE CAST(FLOOR(
              (
                (
                  `value_1` - CAST('0.0' AS DOUBLE)
                ) / CAST('1.0' AS DOUBLE)
              ) + CAST('0.5' AS DOUBLE)
            ) AS BIGINT)
          END AS BIGINT),
          CAST(CASE
            WHEN `value_2` - CAST('1.0' AS DOUBLE) < CAST('1.75' AS DOUBLE)
            THEN 0
            WHEN `value_2` >= CAST('99.0' AS DOUBLE)
            THEN 14
            ELSE CAST(FLOOR(
              (
                (
                  `value_2` - CAST('1.0' AS DOUBLE)
                ) / CAST('7.0' AS DOUBLE)
              ) + CAST('0.5' AS DOUBLE)
            ) AS BIGINT)
          END AS BIGINT),
          CAST(`value_3` AS BIGINT),
          CAST(CASE
            WHEN `value_4` - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
            THEN 0
            WHEN `value_4` >= CAST('900.0' AS DOUBLE)
            THEN 900
            ELSE CAST(FLOOR(
              (
                (
                  `value_4` - CAST('0.0' AS DOUBLE)
                ) / CAST('1.0' AS DOUBLE)
              ) + CAST('0.5' AS DOUBLE)
            ) AS BIGINT)
          END AS BIGINT),
          CAST(CASE
            WHEN `value_5` - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
            THEN 0
            WHEN `value_5` >= CAST('9.0' AS DOUBLE)
            THEN 9
            ELSE CAST(FLOOR(
              (
                (
                  `value_5` - CAST('0.0' AS DOUBLE)
                ) / CAST('1.0' AS DOUBLE)
              ) + CAST('0.5' AS DOUBLE)
            ) AS BIGINT)
          END AS BIGINT)
        )
      END
    ) AS (`place`, `code`)
  FROM `read`
), `counted` AS (
  SELECT
    `place`,
    `class`,
    `code`,
    COUNT(*) AS `count`
  FROM `cells`
  WHERE
    NOT `code` IS NULL
  GROUP BY
    `place`,
    `class`,
    `code`
)
SELECT
  CASE `place`
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
  END AS `attribute`,
  `class`,
  `code`,
  `count`,
  'bcef1d888f5aded487b9894b81917cc97da423f40fe315b06506ec2f17d40501' AS `domain`
FROM `counted`
