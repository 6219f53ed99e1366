-- Scores rows by a model of 'test' (sqlite). Holds what the model holds, and no row.
-- predicted: the likeliest class; skipped: attributes left out of the row, missing or of unknown category.
WITH "rows_read" AS (
  SELECT
    "source"."id" AS "kept_0",
    CASE
      WHEN CAST("source"."age" AS REAL) IN (CAST(999 AS REAL))
      THEN NULL
      ELSE CAST("source"."age" AS REAL)
    END AS "__dpnb_read_0",
    CASE WHEN FALSE THEN NULL ELSE CAST("source"."wage" AS REAL) END AS "__dpnb_read_1",
    CAST("source"."hours" AS REAL) AS "__dpnb_read_2",
    CASE CAST("source"."job ""x""" AS TEXT)
      WHEN 'clerk'
      THEN 0
      WHEN 'été'
      THEN 1
      WHEN '中'
      THEN 2
      ELSE 3
    END AS "__dpnb_read_3",
    CAST(CAST("source"."pension" AS TEXT) AS REAL) AS "__dpnb_read_4",
    CASE
      WHEN LENGTH(CAST("source"."rent" AS TEXT)) <= 64
      AND NOT (
        CAST("source"."rent" AS TEXT) GLOB '*[^0-9.+ -]*'
      )
      AND CAST("source"."rent" AS TEXT) <= CAST(9e999 AS REAL)
      THEN CAST(CAST("source"."rent" AS TEXT) AS REAL)
    END AS "__dpnb_read_5"
  FROM person AS "source"
  LIMIT -1
  OFFSET 0
), "rows_placed" AS (
  SELECT
    *,
    CASE
      WHEN "__dpnb_read_0" <= CAST(0 AS REAL)
      THEN CAST(0 AS REAL)
      WHEN "__dpnb_read_0" >= CAST(90 AS REAL)
      THEN CAST(90 AS REAL)
      WHEN ABS("__dpnb_read_0") < (
        (
          (
            (
              CAST(5088519546561747 AS REAL) / 4611686018427387904
            ) / 4611686018427387904
          ) / 4611686018427387904
        ) / 576460752303423488
      )
      THEN CAST(0 AS REAL)
      ELSE "__dpnb_read_0"
    END AS "__dpnb_value_0",
    CASE
      WHEN "__dpnb_read_1" <= CAST(0 AS REAL)
      THEN CAST(0 AS REAL)
      WHEN "__dpnb_read_1" >= CAST(1000 AS REAL)
      THEN (
        CAST(1944641590607385 AS REAL) / 281474976710656
      )
      WHEN ABS("__dpnb_read_1") < (
        (
          (
            (
              CAST(3124918554395323 AS REAL) / 4611686018427387904
            ) / 4611686018427387904
          ) / 4611686018427387904
        ) / 4611686018427387904
      )
      THEN CAST(0 AS REAL)
      ELSE LN(CAST(1 AS REAL) + "__dpnb_read_1")
    END AS "__dpnb_value_1",
    CASE
      WHEN "__dpnb_read_2" - CAST(1 AS REAL) < (
        CAST(7 AS REAL) / 4
      )
      THEN 0
      WHEN "__dpnb_read_2" >= CAST(99 AS REAL)
      THEN 14
      ELSE CAST(CAST((
        (
          "__dpnb_read_2" - CAST(1 AS REAL)
        ) / CAST(7 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "__dpnb_value_2",
    "__dpnb_read_3" AS "__dpnb_value_3",
    CASE
      WHEN "__dpnb_read_4" <= CAST(0 AS REAL)
      THEN CAST(0 AS REAL)
      WHEN "__dpnb_read_4" >= CAST(900 AS REAL)
      THEN CAST(900 AS REAL)
      WHEN ABS("__dpnb_read_4") < (
        (
          (
            (
              CAST(6360649433202183 AS REAL) / 4611686018427387904
            ) / 4611686018427387904
          ) / 4611686018427387904
        ) / 72057594037927936
      )
      THEN CAST(0 AS REAL)
      ELSE "__dpnb_read_4"
    END AS "__dpnb_value_4",
    CASE
      WHEN "__dpnb_read_5" - CAST(0 AS REAL) < (
        CAST(1 AS REAL) / 4
      )
      THEN 0
      WHEN "__dpnb_read_5" >= CAST(9 AS REAL)
      THEN 9
      ELSE CAST(CAST((
        (
          "__dpnb_read_5" - CAST(0 AS REAL)
        ) / CAST(1 AS REAL)
      ) + (
        CAST(1 AS REAL) / 2
      ) AS INTEGER) AS INTEGER)
    END AS "__dpnb_value_5"
  FROM "rows_read"
  LIMIT -1
  OFFSET 0
), "rows_joint" AS (
  SELECT
    *,
    (
      CAST(-3838274061291251 AS REAL) / 4611686018427387904
    ) + COALESCE(
      (
        (
          CAST(1 AS REAL) / 4
        ) * (
          (
            (
              (
                "__dpnb_value_0" - CAST(0 AS REAL)
              ) / CAST(90 AS REAL)
            ) * (
              (
                "__dpnb_value_0" - CAST(0 AS REAL)
              ) / CAST(90 AS REAL)
            )
          ) - (
            (
              (
                "__dpnb_value_0" - (
                  CAST(241 AS REAL) / 8
                )
              ) / CAST(12 AS REAL)
            ) * (
              (
                "__dpnb_value_0" - (
                  CAST(241 AS REAL) / 8
                )
              ) / CAST(12 AS REAL)
            )
          )
        )
      ) + (
        CAST(2130402330361377 AS REAL) / 4503599627370496
      ),
      CAST(0 AS REAL)
    ) + COALESCE(
      (
        (
          CAST(1 AS REAL) / 2
        ) * (
          (
            (
              (
                "__dpnb_value_1" - (
                  CAST(3433994715870003 AS REAL) / 562949953421312
                )
              ) / (
                CAST(13 AS REAL) / 2
              )
            ) * (
              (
                "__dpnb_value_1" - (
                  CAST(3433994715870003 AS REAL) / 562949953421312
                )
              ) / (
                CAST(13 AS REAL) / 2
              )
            )
          ) - (
            (
              (
                "__dpnb_value_1" - (
                  CAST(11 AS REAL) / 2
                )
              ) / (
                CAST(3602879701896397 AS REAL) / 36028797018963968
              )
            ) * (
              (
                "__dpnb_value_1" - (
                  CAST(11 AS REAL) / 2
                )
              ) / (
                CAST(3602879701896397 AS REAL) / 36028797018963968
              )
            )
          )
        )
      ) + (
        CAST(3597146371917689 AS REAL) / 1125899906842624
      ),
      CAST(0 AS REAL)
    ) + COALESCE(
      CASE
        WHEN "__dpnb_value_2" >= 5
        THEN CAST(0 AS REAL)
        WHEN "__dpnb_value_2" >= 0
        THEN CAST(0 AS REAL)
      END,
      CAST(0 AS REAL)
    ) + COALESCE(
      CASE "__dpnb_value_3"
        WHEN 0
        THEN (
          CAST(-5462900422144689 AS REAL) / 4503599627370496
        )
        WHEN 1
        THEN (
          CAST(-8194350633217033 AS REAL) / 2251799813685248
        )
        WHEN 2
        THEN (
          CAST(-5462900422144689 AS REAL) / 2251799813685248
        )
        WHEN 3
        THEN (
          CAST(-8194350633217033 AS REAL) / 2251799813685248
        )
      END,
      CAST(0 AS REAL)
    ) + COALESCE(
      (
        CAST(0 AS REAL) * (
          (
            (
              "__dpnb_value_4" - (
                CAST(701 AS REAL) / 2
              )
            ) / CAST(50 AS REAL)
          ) - CAST(0 AS REAL)
        )
      ) + CAST(0 AS REAL),
      (
        CAST(2591209748590025 AS REAL) / 36028797018963968
      )
    ) + COALESCE(
      CASE
        WHEN "__dpnb_value_5" >= 0
        THEN (
          CAST(-2592480341699211 AS REAL) / 9007199254740992
        )
      END,
      CAST(0 AS REAL)
    ) AS "__dpnb_joint_0",
    (
      CAST(-4836720823500741 AS REAL) / 562949953421312
    ) + COALESCE(
      (
        CAST(0 AS REAL) * (
          (
            (
              "__dpnb_value_0" - CAST(0 AS REAL)
            ) / CAST(90 AS REAL)
          ) - CAST(0 AS REAL)
        )
      ) + CAST(0 AS REAL),
      CAST(0 AS REAL)
    ) + COALESCE(
      (
        CAST(0 AS REAL) * (
          (
            (
              "__dpnb_value_1" - (
                CAST(3433994715870003 AS REAL) / 562949953421312
              )
            ) / (
              CAST(13 AS REAL) / 2
            )
          ) - CAST(0 AS REAL)
        )
      ) + CAST(0 AS REAL),
      CAST(0 AS REAL)
    ) + COALESCE(
      CASE
        WHEN "__dpnb_value_2" >= 5
        THEN CAST(0 AS REAL)
        WHEN "__dpnb_value_2" >= 0
        THEN CAST(0 AS REAL)
      END,
      CAST(0 AS REAL)
    ) + COALESCE(
      CASE "__dpnb_value_3"
        WHEN 0
        THEN (
          CAST(-5462900422144689 AS REAL) / 2251799813685248
        )
        WHEN 1
        THEN (
          CAST(-5462900422144689 AS REAL) / 2251799813685248
        )
        WHEN 2
        THEN (
          CAST(-5462900422144689 AS REAL) / 2251799813685248
        )
        WHEN 3
        THEN (
          CAST(-5462900422144689 AS REAL) / 2251799813685248
        )
      END,
      CAST(0 AS REAL)
    ) + COALESCE(
      (
        (
          CAST(-1 AS REAL) / 8
        ) * (
          (
            (
              (
                "__dpnb_value_4" - (
                  CAST(701 AS REAL) / 2
                )
              ) / CAST(50 AS REAL)
            ) * (
              (
                "__dpnb_value_4" - (
                  CAST(701 AS REAL) / 2
                )
              ) / CAST(50 AS REAL)
            )
          ) - (
            (
              (
                "__dpnb_value_4" - CAST(400 AS REAL)
              ) / CAST(100 AS REAL)
            ) * (
              (
                "__dpnb_value_4" - CAST(400 AS REAL)
              ) / CAST(100 AS REAL)
            )
          )
        )
      ) + (
        CAST(-35981962823 AS REAL) / 4503599627370496
      ),
      (
        CAST(6243314768165359 AS REAL) / 36028797018963968
      )
    ) + COALESCE(
      CASE
        WHEN "__dpnb_value_5" >= 0
        THEN (
          CAST(-2592480341699211 AS REAL) / 9007199254740992
        )
      END,
      CAST(0 AS REAL)
    ) AS "__dpnb_joint_1"
  FROM "rows_placed"
  LIMIT -1
  OFFSET 0
), "rows_largest" AS (
  SELECT
    *,
    MAX("__dpnb_joint_0", "__dpnb_joint_1") AS "__dpnb_largest"
  FROM "rows_joint"
  LIMIT -1
  OFFSET 0
), "rows_weighed" AS (
  SELECT
    *,
    CASE
      WHEN "__dpnb_joint_0" - "__dpnb_largest" < CAST(-700 AS REAL)
      THEN CAST(0 AS REAL)
      ELSE EXP("__dpnb_joint_0" - "__dpnb_largest")
    END AS "__dpnb_weight_0",
    CASE
      WHEN "__dpnb_joint_1" - "__dpnb_largest" < CAST(-700 AS REAL)
      THEN CAST(0 AS REAL)
      ELSE EXP("__dpnb_joint_1" - "__dpnb_largest")
    END AS "__dpnb_weight_1"
  FROM "rows_largest"
  LIMIT -1
  OFFSET 0
), "rows_summed" AS (
  SELECT
    *,
    "__dpnb_weight_0" + "__dpnb_weight_1" AS "__dpnb_total"
  FROM "rows_weighed"
  LIMIT -1
  OFFSET 0
)
SELECT
  "kept_0" AS "id",
  CASE
    WHEN "__dpnb_weight_0" / "__dpnb_total" = CAST(1 AS REAL) / "__dpnb_total"
    THEN 'no'
    WHEN "__dpnb_weight_1" / "__dpnb_total" = CAST(1 AS REAL) / "__dpnb_total"
    THEN 'yes'
  END AS "predicted",
  "__dpnb_weight_0" / "__dpnb_total" AS "probability_no",
  "__dpnb_weight_1" / "__dpnb_total" AS "probability_yes",
  CASE WHEN "__dpnb_value_0" IS NULL THEN 1 ELSE 0 END + CASE WHEN "__dpnb_value_1" IS NULL THEN 1 ELSE 0 END + CASE WHEN "__dpnb_value_2" IS NULL THEN 1 ELSE 0 END + CASE WHEN "__dpnb_value_3" IS NULL THEN 1 ELSE 0 END + CASE WHEN "__dpnb_value_5" IS NULL THEN 1 ELSE 0 END AS "skipped"
FROM "rows_summed"
