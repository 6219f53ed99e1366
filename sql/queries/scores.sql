-- Scores rows by a model of 'test' (duckdb). Holds what the model holds, and no row.
-- predicted: the likeliest class; skipped: attributes left out of the row, missing or of unknown category.
WITH "rows_read" AS (
  SELECT
    "source"."id" AS "kept_0",
    CASE
      WHEN CAST("source"."age" AS DOUBLE) IN (CAST('999.0' AS DOUBLE))
      THEN NULL
      ELSE CAST("source"."age" AS DOUBLE)
    END AS "__dpnb_read_0",
    CASE
      WHEN NOT (
        ISFINITE(CAST("source"."wage" AS DOUBLE))
        OR ISINF(CAST("source"."wage" AS DOUBLE))
      )
      THEN NULL
      ELSE CAST("source"."wage" AS DOUBLE)
    END AS "__dpnb_read_1",
    CAST("source"."hours" AS DOUBLE) AS "__dpnb_read_2",
    CASE CAST("source"."job ""x""" AS TEXT)
      WHEN 'clerk'
      THEN 0
      WHEN 'été'
      THEN 1
      WHEN '中'
      THEN 2
      ELSE 3
    END AS "__dpnb_read_3",
    CAST(CAST("source"."pension" AS TEXT) AS DOUBLE) AS "__dpnb_read_4",
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
    ) AS "__dpnb_read_5"
  FROM person AS "source"
  CROSS JOIN (
    SELECT
      0
  ) AS "nothing"
), "rows_placed" AS (
  SELECT
    *,
    CASE
      WHEN "__dpnb_read_0" <= CAST('0.0' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      WHEN "__dpnb_read_0" >= CAST('90.0' AS DOUBLE)
      THEN CAST('90.0' AS DOUBLE)
      WHEN ABS("__dpnb_read_0") < CAST('9e-59' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      ELSE "__dpnb_read_0"
    END AS "__dpnb_value_0",
    CASE
      WHEN "__dpnb_read_1" <= CAST('0.0' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      WHEN "__dpnb_read_1" >= CAST('1000.0' AS DOUBLE)
      THEN CAST('6.90875477931522' AS DOUBLE)
      WHEN ABS("__dpnb_read_1") < CAST('6.90875477931522e-60' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      ELSE LN(CAST('1.0' AS DOUBLE) + "__dpnb_read_1")
    END AS "__dpnb_value_1",
    CASE
      WHEN "__dpnb_read_2" - CAST('1.0' AS DOUBLE) < CAST('1.75' AS DOUBLE)
      THEN 0
      WHEN "__dpnb_read_2" >= CAST('99.0' AS DOUBLE)
      THEN 14
      ELSE CAST(FLOOR(
        (
          (
            "__dpnb_read_2" - CAST('1.0' AS DOUBLE)
          ) / CAST('7.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "__dpnb_value_2",
    "__dpnb_read_3" AS "__dpnb_value_3",
    CASE
      WHEN "__dpnb_read_4" <= CAST('0.0' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      WHEN "__dpnb_read_4" >= CAST('900.0' AS DOUBLE)
      THEN CAST('900.0' AS DOUBLE)
      WHEN ABS("__dpnb_read_4") < CAST('8.999999999999999e-58' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      ELSE "__dpnb_read_4"
    END AS "__dpnb_value_4",
    CASE
      WHEN "__dpnb_read_5" - CAST('0.0' AS DOUBLE) < CAST('0.25' AS DOUBLE)
      THEN 0
      WHEN "__dpnb_read_5" >= CAST('9.0' AS DOUBLE)
      THEN 9
      ELSE CAST(FLOOR(
        (
          (
            "__dpnb_read_5" - CAST('0.0' AS DOUBLE)
          ) / CAST('1.0' AS DOUBLE)
        ) + CAST('0.5' AS DOUBLE)
      ) AS BIGINT)
    END AS "__dpnb_value_5"
  FROM "rows_read"
), "rows_joint" AS (
  SELECT
    *,
    CAST('-0.0008322930151693469' AS DOUBLE) + COALESCE(
      (
        CAST('0.25' AS DOUBLE) * (
          (
            (
              (
                "__dpnb_value_0" - CAST('0.0' AS DOUBLE)
              ) * CAST('0.011111111111111112' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_0" - CAST('0.0' AS DOUBLE)
              ) * CAST('0.011111111111111112' AS DOUBLE)
            )
          ) - (
            (
              (
                "__dpnb_value_0" - CAST('30.125' AS DOUBLE)
              ) * CAST('0.08333333333333333' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_0" - CAST('30.125' AS DOUBLE)
              ) * CAST('0.08333333333333333' AS DOUBLE)
            )
          )
        )
      ) + CAST('0.473044343776458' AS DOUBLE),
      CAST('0.0' AS DOUBLE)
    ) + COALESCE(
      (
        CAST('0.5' AS DOUBLE) * (
          (
            (
              (
                "__dpnb_value_1" - CAST('6.1' AS DOUBLE)
              ) * CAST('0.15384615384615385' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_1" - CAST('6.1' AS DOUBLE)
              ) * CAST('0.15384615384615385' AS DOUBLE)
            )
          ) - (
            (
              (
                "__dpnb_value_1" - CAST('5.5' AS DOUBLE)
              ) * CAST('10.0' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_1" - CAST('5.5' AS DOUBLE)
              ) * CAST('10.0' AS DOUBLE)
            )
          )
        )
      ) + CAST('3.194907780039892' AS DOUBLE),
      CAST('0.0' AS DOUBLE)
    ) AS "__dpnb_joint_0",
    CAST('-8.591742115095153' AS DOUBLE) + COALESCE(
      CASE
        WHEN "__dpnb_value_2" >= 5
        THEN CAST('0.0' AS DOUBLE)
        WHEN "__dpnb_value_2" >= 0
        THEN CAST('0.0' AS DOUBLE)
      END,
      CAST('0.0' AS DOUBLE)
    ) + COALESCE(
      CASE "__dpnb_value_3"
        WHEN 0
        THEN CAST('-1.2130075659799042' AS DOUBLE)
        WHEN 1
        THEN CAST('1.213007565979904' AS DOUBLE)
        WHEN 2
        THEN CAST('0.0' AS DOUBLE)
        WHEN 3
        THEN CAST('1.213007565979904' AS DOUBLE)
      END,
      CAST('0.0' AS DOUBLE)
    ) + COALESCE(
      (
        CAST('-0.125' AS DOUBLE) * (
          (
            (
              (
                "__dpnb_value_4" - CAST('350.5' AS DOUBLE)
              ) * CAST('0.02' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_4" - CAST('350.5' AS DOUBLE)
              ) * CAST('0.02' AS DOUBLE)
            )
          ) - (
            (
              (
                "__dpnb_value_4" - CAST('400.0' AS DOUBLE)
              ) * CAST('0.01' AS DOUBLE)
            ) * (
              (
                "__dpnb_value_4" - CAST('400.0' AS DOUBLE)
              ) * CAST('0.01' AS DOUBLE)
            )
          )
        )
      ) + CAST('-7.9896007194602e-06' AS DOUBLE),
      CAST('0.1013662770270411' AS DOUBLE)
    ) + COALESCE(
      CASE WHEN "__dpnb_value_5" >= 0 THEN CAST('0.0' AS DOUBLE) END,
      CAST('0.0' AS DOUBLE)
    ) AS "__dpnb_joint_1"
  FROM "rows_placed"
), "rows_largest" AS (
  SELECT
    *,
    GREATEST("__dpnb_joint_0", "__dpnb_joint_1") AS "__dpnb_largest"
  FROM "rows_joint"
), "rows_weighed" AS (
  SELECT
    *,
    EXP("__dpnb_joint_0" - "__dpnb_largest") AS "__dpnb_weight_0",
    EXP("__dpnb_joint_1" - "__dpnb_largest") AS "__dpnb_weight_1"
  FROM "rows_largest"
), "rows_summed" AS (
  SELECT
    *,
    "__dpnb_weight_0" + "__dpnb_weight_1" AS "__dpnb_total"
  FROM "rows_weighed"
)
SELECT
  "kept_0" AS "id",
  CASE
    WHEN "__dpnb_weight_0" / "__dpnb_total" = CAST('1.0' AS DOUBLE) / "__dpnb_total"
    THEN 'no'
    WHEN "__dpnb_weight_1" / "__dpnb_total" = CAST('1.0' AS DOUBLE) / "__dpnb_total"
    THEN 'yes'
  END AS "predicted",
  "__dpnb_weight_0" / "__dpnb_total" AS "probability_no",
  "__dpnb_weight_1" / "__dpnb_total" AS "probability_yes",
  CAST(CAST("__dpnb_value_0" IS NULL AS DOUBLE) + CAST("__dpnb_value_1" IS NULL AS DOUBLE) + CAST("__dpnb_value_2" IS NULL AS DOUBLE) + CAST("__dpnb_value_3" IS NULL AS DOUBLE) + CAST("__dpnb_value_5" IS NULL AS DOUBLE) AS INT) AS "skipped"
FROM "rows_summed"
