-- Scores rows by a model of 'test' (postgres). Holds what the model holds, and no row.
-- predicted: the likeliest class; skipped: attributes left out of the row, missing or of unknown category.
WITH "__dpnb_terms" AS (
  SELECT
    attribute AS "attribute",
    COALESCE(CAST(value AS pg_catalog.TEXT), '') AS "value",
    number AS "number",
    pg_catalog.MAX(CASE WHEN class = 'no' THEN term END) AS "term_0",
    pg_catalog.MAX(CASE WHEN class = 'yes' THEN term END) AS "term_1"
  FROM terms
  WHERE
    model = 'a74a7e65b7b8573d'
  GROUP BY
    attribute,
    COALESCE(CAST(value AS pg_catalog.TEXT), ''),
    number
  OFFSET 0
), "__dpnb_number_2" AS (
  SELECT
    "number",
    "term_0",
    "term_1"
  FROM "__dpnb_terms"
  WHERE
    "attribute" = 'hours'
  OFFSET 0
), "__dpnb_value_3" AS (
  SELECT
    "value",
    "term_0",
    "term_1"
  FROM "__dpnb_terms"
  WHERE
    "attribute" = 'job "x"'
  OFFSET 0
), "__dpnb_number_5" AS (
  SELECT
    "number",
    "term_0",
    "term_1"
  FROM "__dpnb_terms"
  WHERE
    "attribute" = 'rent'
  OFFSET 0
), "rows_read" AS (
  SELECT
    "source"."id" AS "kept_0",
    CASE
      WHEN CAST("source"."age" AS DOUBLE PRECISION) IN (CAST('999.0' AS DOUBLE PRECISION))
      THEN NULL
      ELSE CAST("source"."age" AS DOUBLE PRECISION)
    END AS "__dpnb_read_0",
    CASE
      WHEN NOT (
        CASE
          WHEN "source"."wage" OPERATOR(pg_catalog.>) 1.7976931348623158e308
          AND CAST("source"."wage" AS pg_catalog.TEXT) COLLATE pg_catalog."C" <> 'NaN'
          THEN CAST('inf' AS DOUBLE PRECISION)
          WHEN "source"."wage" OPERATOR(pg_catalog.<) -1.7976931348623158e308
          THEN CAST('-inf' AS DOUBLE PRECISION)
          WHEN "source"."wage" OPERATOR(pg_catalog.>) -5e-324
          AND "source"."wage" OPERATOR(pg_catalog.<) 5e-324
          THEN CAST('0.0' AS DOUBLE PRECISION)
          ELSE CAST("source"."wage" AS DOUBLE PRECISION)
        END <= CAST('inf' AS DOUBLE PRECISION)
      )
      THEN NULL
      ELSE CASE
        WHEN "source"."wage" OPERATOR(pg_catalog.>) 1.7976931348623158e308
        AND CAST("source"."wage" AS pg_catalog.TEXT) COLLATE pg_catalog."C" <> 'NaN'
        THEN CAST('inf' AS DOUBLE PRECISION)
        WHEN "source"."wage" OPERATOR(pg_catalog.<) -1.7976931348623158e308
        THEN CAST('-inf' AS DOUBLE PRECISION)
        WHEN "source"."wage" OPERATOR(pg_catalog.>) -5e-324
        AND "source"."wage" OPERATOR(pg_catalog.<) 5e-324
        THEN CAST('0.0' AS DOUBLE PRECISION)
        ELSE CAST("source"."wage" AS DOUBLE PRECISION)
      END
    END AS "__dpnb_read_1",
    CAST("source"."hours" AS DOUBLE PRECISION) AS "__dpnb_read_2",
    CAST("source"."job ""x""" AS pg_catalog.TEXT) COLLATE pg_catalog."C" AS "__dpnb_read_3",
    CAST(CAST("source"."pension" AS pg_catalog.TEXT) COLLATE pg_catalog."C" AS DOUBLE PRECISION) AS "__dpnb_read_4",
    COALESCE(
      CASE
        WHEN pg_catalog.LENGTH(CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C") <= 64
        AND CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" ~ '^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *$'
        THEN CAST(CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" AS DOUBLE PRECISION)
      END,
      CASE
        WHEN CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" IN ('true', 'True', 'TRUE')
        THEN CAST('1.0' AS DOUBLE PRECISION)
        WHEN CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" IN ('false', 'False', 'FALSE')
        THEN CAST('0.0' AS DOUBLE PRECISION)
        WHEN CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" IN ('inf', 'Inf', 'Infinity')
        THEN CAST('inf' AS DOUBLE PRECISION)
        WHEN CAST("source"."rent" AS pg_catalog.TEXT) COLLATE pg_catalog."C" IN ('-inf', '-Inf', '-Infinity')
        THEN CAST('-inf' AS DOUBLE PRECISION)
      END
    ) AS "__dpnb_read_5"
  FROM person AS "source"
  OFFSET 0
), "rows_placed" AS (
  SELECT
    *,
    CASE
      WHEN "__dpnb_read_0" <= CAST('0.0' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      WHEN "__dpnb_read_0" >= CAST('90.0' AS DOUBLE PRECISION)
      THEN CAST('90.0' AS DOUBLE PRECISION)
      WHEN pg_catalog.ABS("__dpnb_read_0") < CAST('9e-59' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      ELSE "__dpnb_read_0"
    END AS "__dpnb_value_0",
    CASE
      WHEN "__dpnb_read_1" <= CAST('0.0' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      WHEN "__dpnb_read_1" >= CAST('1000.0' AS DOUBLE PRECISION)
      THEN CAST('6.90875477931522' AS DOUBLE PRECISION)
      WHEN pg_catalog.ABS("__dpnb_read_1") < CAST('6.90875477931522e-60' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      ELSE pg_catalog.LN(CAST('1.0' AS DOUBLE PRECISION) + "__dpnb_read_1")
    END AS "__dpnb_value_1",
    CASE
      WHEN "__dpnb_read_2" - CAST('1.0' AS DOUBLE PRECISION) < CAST('1.75' AS DOUBLE PRECISION)
      THEN 0
      WHEN "__dpnb_read_2" >= CAST('99.0' AS DOUBLE PRECISION)
      THEN 14
      ELSE CAST(pg_catalog.FLOOR(
        (
          (
            "__dpnb_read_2" - CAST('1.0' AS DOUBLE PRECISION)
          ) / CAST('7.0' AS DOUBLE PRECISION)
        ) + CAST('0.5' AS DOUBLE PRECISION)
      ) AS BIGINT)
    END AS "__dpnb_value_2",
    CASE
      WHEN "__dpnb_read_4" <= CAST('0.0' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      WHEN "__dpnb_read_4" >= CAST('900.0' AS DOUBLE PRECISION)
      THEN CAST('900.0' AS DOUBLE PRECISION)
      WHEN pg_catalog.ABS("__dpnb_read_4") < CAST('8.999999999999999e-58' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      ELSE "__dpnb_read_4"
    END AS "__dpnb_value_4",
    CASE
      WHEN "__dpnb_read_5" - CAST('0.0' AS DOUBLE PRECISION) < CAST('0.25' AS DOUBLE PRECISION)
      THEN 0
      WHEN "__dpnb_read_5" >= CAST('9.0' AS DOUBLE PRECISION)
      THEN 9
      ELSE CAST(pg_catalog.FLOOR(
        (
          (
            "__dpnb_read_5" - CAST('0.0' AS DOUBLE PRECISION)
          ) / CAST('1.0' AS DOUBLE PRECISION)
        ) + CAST('0.5' AS DOUBLE PRECISION)
      ) AS BIGINT)
    END AS "__dpnb_value_5"
  FROM "rows_read"
  OFFSET 0
), "rows_joint" AS (
  SELECT
    "rows_placed".*,
    COALESCE("__dpnb_value_3"."term_0", CAST('0.0' AS DOUBLE PRECISION)) AS "__dpnb_value_3",
    CAST('-0.0008322930151693469' AS DOUBLE PRECISION) + COALESCE(
      (
        CAST('0.25' AS DOUBLE PRECISION) * (
          (
            (
              (
                "__dpnb_value_0" - CAST('0.0' AS DOUBLE PRECISION)
              ) * CAST('0.011111111111111112' AS DOUBLE PRECISION)
            ) * (
              (
                "__dpnb_value_0" - CAST('0.0' AS DOUBLE PRECISION)
              ) * CAST('0.011111111111111112' AS DOUBLE PRECISION)
            )
          ) - (
            (
              (
                "__dpnb_value_0" - CAST('30.125' AS DOUBLE PRECISION)
              ) * CAST('0.08333333333333333' AS DOUBLE PRECISION)
            ) * (
              (
                "__dpnb_value_0" - CAST('30.125' AS DOUBLE PRECISION)
              ) * CAST('0.08333333333333333' AS DOUBLE PRECISION)
            )
          )
        )
      ) + CAST('0.473044343776458' AS DOUBLE PRECISION),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE(
      (
        CAST('0.5' AS DOUBLE PRECISION) * (
          (
            (
              (
                "__dpnb_value_1" - CAST('6.1' AS DOUBLE PRECISION)
              ) * CAST('0.15384615384615385' AS DOUBLE PRECISION)
            ) * (
              (
                "__dpnb_value_1" - CAST('6.1' AS DOUBLE PRECISION)
              ) * CAST('0.15384615384615385' AS DOUBLE PRECISION)
            )
          ) - (
            (
              (
                "__dpnb_value_1" - CAST('5.5' AS DOUBLE PRECISION)
              ) * CAST('10.0' AS DOUBLE PRECISION)
            ) * (
              (
                "__dpnb_value_1" - CAST('5.5' AS DOUBLE PRECISION)
              ) * CAST('10.0' AS DOUBLE PRECISION)
            )
          )
        )
      ) + CAST('3.194907780039892' AS DOUBLE PRECISION),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE("__dpnb_number_2"."term_0", CAST('0.0' AS DOUBLE PRECISION)) + COALESCE(
      COALESCE("__dpnb_value_3"."term_0", CAST('0.0' AS DOUBLE PRECISION)),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE(
      COALESCE(
        (
          CAST('-0.0' AS DOUBLE PRECISION) * (
            (
              (
                "__dpnb_value_4" - CAST('350.5' AS DOUBLE PRECISION)
              ) * CAST('0.02' AS DOUBLE PRECISION)
            ) - CAST('0.0' AS DOUBLE PRECISION)
          )
        ) + CAST('-0.0' AS DOUBLE PRECISION),
        CAST('0.0' AS DOUBLE PRECISION)
      ),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE("__dpnb_number_5"."term_0", CAST('0.0' AS DOUBLE PRECISION)) AS "__dpnb_joint_0",
    CAST('-8.591742115095153' AS DOUBLE PRECISION) + COALESCE(
      (
        CAST('0.0' AS DOUBLE PRECISION) * (
          (
            (
              "__dpnb_value_0" - CAST('0.0' AS DOUBLE PRECISION)
            ) * CAST('0.011111111111111112' AS DOUBLE PRECISION)
          ) - CAST('0.0' AS DOUBLE PRECISION)
        )
      ) + CAST('0.0' AS DOUBLE PRECISION),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE(
      (
        CAST('0.0' AS DOUBLE PRECISION) * (
          (
            (
              "__dpnb_value_1" - CAST('6.1' AS DOUBLE PRECISION)
            ) * CAST('0.15384615384615385' AS DOUBLE PRECISION)
          ) - CAST('0.0' AS DOUBLE PRECISION)
        )
      ) + CAST('0.0' AS DOUBLE PRECISION),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE("__dpnb_number_2"."term_1", CAST('0.0' AS DOUBLE PRECISION)) + COALESCE(
      COALESCE("__dpnb_value_3"."term_1", CAST('1.213007565979904' AS DOUBLE PRECISION)),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE(
      COALESCE(
        (
          CAST('-0.125' AS DOUBLE PRECISION) * (
            (
              (
                (
                  "__dpnb_value_4" - CAST('350.5' AS DOUBLE PRECISION)
                ) * CAST('0.02' AS DOUBLE PRECISION)
              ) * (
                (
                  "__dpnb_value_4" - CAST('350.5' AS DOUBLE PRECISION)
                ) * CAST('0.02' AS DOUBLE PRECISION)
              )
            ) - (
              (
                (
                  "__dpnb_value_4" - CAST('400.0' AS DOUBLE PRECISION)
                ) * CAST('0.01' AS DOUBLE PRECISION)
              ) * (
                (
                  "__dpnb_value_4" - CAST('400.0' AS DOUBLE PRECISION)
                ) * CAST('0.01' AS DOUBLE PRECISION)
              )
            )
          )
        ) + CAST('-7.9896007194602e-06' AS DOUBLE PRECISION),
        CAST('0.1013662770270411' AS DOUBLE PRECISION)
      ),
      CAST('0.0' AS DOUBLE PRECISION)
    ) + COALESCE("__dpnb_number_5"."term_1", CAST('0.0' AS DOUBLE PRECISION)) AS "__dpnb_joint_1"
  FROM "rows_placed"
  LEFT JOIN "__dpnb_number_2"
    ON "__dpnb_number_2"."number" = "__dpnb_value_2"
  LEFT JOIN "__dpnb_value_3"
    ON "__dpnb_value_3"."value" = "__dpnb_read_3"
  LEFT JOIN "__dpnb_number_5"
    ON "__dpnb_number_5"."number" = "__dpnb_value_5"
  OFFSET 0
), "rows_largest" AS (
  SELECT
    *,
    GREATEST("__dpnb_joint_0", "__dpnb_joint_1") AS "__dpnb_largest"
  FROM "rows_joint"
  OFFSET 0
), "rows_weighed" AS (
  SELECT
    *,
    CASE
      WHEN "__dpnb_joint_0" - "__dpnb_largest" < CAST('-700.0' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      ELSE pg_catalog.EXP("__dpnb_joint_0" - "__dpnb_largest")
    END AS "__dpnb_weight_0",
    CASE
      WHEN "__dpnb_joint_1" - "__dpnb_largest" < CAST('-700.0' AS DOUBLE PRECISION)
      THEN CAST('0.0' AS DOUBLE PRECISION)
      ELSE pg_catalog.EXP("__dpnb_joint_1" - "__dpnb_largest")
    END AS "__dpnb_weight_1"
  FROM "rows_largest"
  OFFSET 0
), "rows_summed" AS (
  SELECT
    *,
    CASE
      WHEN (
        SELECT
          pg_catalog.COUNT(*)
        FROM terms
        WHERE
          model = 'a74a7e65b7b8573d'
      ) = 56
      THEN "__dpnb_weight_0" + "__dpnb_weight_1"
    END AS "__dpnb_total"
  FROM "rows_weighed"
  OFFSET 0
)
SELECT
  "kept_0" AS "id",
  CASE
    WHEN "__dpnb_weight_0" / "__dpnb_total" = CAST('1.0' AS DOUBLE PRECISION) / "__dpnb_total"
    THEN 'no'
    WHEN "__dpnb_weight_1" / "__dpnb_total" = CAST('1.0' AS DOUBLE PRECISION) / "__dpnb_total"
    THEN 'yes'
  END AS "predicted",
  "__dpnb_weight_0" / "__dpnb_total" AS "probability_no",
  "__dpnb_weight_1" / "__dpnb_total" AS "probability_yes",
  CAST("__dpnb_value_0" IS NULL AS INT) + CAST("__dpnb_value_1" IS NULL AS INT) + CAST("__dpnb_value_2" IS NULL AS INT) + CAST("__dpnb_value_3" IS NULL AS INT) + CAST("__dpnb_value_5" IS NULL AS INT) AS "skipped"
FROM "rows_summed"
