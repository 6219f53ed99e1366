-- Scores rows by a model of 'test' (duckdb). Holds what the model holds, and no row.
-- predicted: the likeliest class; skipped: attributes left out of the row, missing or of unknown category.
WITH "rows_read" AS (
  SELECT
    "source"."id" AS "kept_0",
    CASE
      WHEN "source"."age" BETWEEN 0 AND 90
      THEN "source"."age" - CAST(0 AS BIGINT)
      WHEN "source"."age" IN (999)
      THEN 91
      WHEN "source"."age" < 0
      THEN 0
      WHEN "source"."age" > 90
      THEN 90
      ELSE 91
    END AS "__dpnb_read_0",
    CASE
      WHEN NOT (
        ISFINITE(CAST("source"."wage" AS DOUBLE))
        OR ISINF(CAST("source"."wage" AS DOUBLE))
      )
      THEN NULL
      ELSE CAST("source"."wage" AS DOUBLE)
    END AS "__dpnb_read_1",
    CASE
      WHEN "source"."hours" BETWEEN 1 AND 99
      THEN "source"."hours" - CAST(1 AS BIGINT)
      WHEN "source"."hours" < 1
      THEN 0
      WHEN "source"."hours" > 99
      THEN 98
      ELSE 99
    END AS "__dpnb_read_2",
    COALESCE(
      CAST(ENUM_CODE(TRY_CAST(CAST("source"."job ""x""" AS TEXT) AS ENUM('clerk', 'été', '中'))) AS INT),
      3
    ) AS "__dpnb_read_3",
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
    "__dpnb_read_0" AS "__dpnb_value_0",
    CASE
      WHEN "__dpnb_read_1" <= CAST('0.0' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      WHEN "__dpnb_read_1" >= CAST('1000.0' AS DOUBLE)
      THEN CAST('6.90875477931522' AS DOUBLE)
      WHEN ABS("__dpnb_read_1") < CAST('6.90875477931522e-60' AS DOUBLE)
      THEN CAST('0.0' AS DOUBLE)
      ELSE LN(CAST('1.0' AS DOUBLE) + "__dpnb_read_1")
    END AS "__dpnb_value_1",
    "__dpnb_read_2" AS "__dpnb_value_2",
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
    COALESCE(
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
      END,
      10
    ) AS "__dpnb_value_5"
  FROM "rows_read"
), "rows_joint" AS (
  SELECT
    *,
    CAST('-0.0008322930151693469' AS DOUBLE) + (
      CAST('[-1.1025036162929862,-0.9996081687621219,-0.9001232150584186,-0.8040487551818751,-0.7113847891324925,-0.6221313169102705,-0.5362883385152086,-0.4538558539473073,-0.37483386320656675,-0.2992223662929864,-0.22702136320656663,-0.1582308539473074,-0.09285083851520859,-0.030881316910270407,0.027677710867507366,0.08282624481812473,0.1345642849415815,0.18289183123787772,0.22780888370701363,0.26931544234898885,0.30741150716380367,0.34209707815145796,0.37337215531195184,0.40123673864528514,0.425690828151458,0.44673442383047035,0.4643675256823222,0.47859013370701353,0.4894022479045444,0.4968038682749148,0.5007949948181246,0.5013756275341741,0.4985457664230629,0.49230541148479134,0.48265456271935925,0.46959322012676663,0.45312138370701355,0.4332390534601,0.4099462293860259,0.3832429114847914,0.3531290997563963,0.3196047942008407,0.2826699948181247,0.2423247016082482,0.19856891457121106,0.15140263370701357,0.10082585901565566,0.04683859049713701,-0.010559171848541937,-0.07136742802138141,-0.1355861780213815,-0.2032154218485419,-0.27425515950286283,-0.3487053909843445,-0.42656611629298646,-0.5078373354287887,-0.592519048391752,-0.680611255181875,-0.772113955799159,-0.8670271502436038,-0.9653508385152083,-1.067085020613974,-1.1722296965399,-1.280784866292986,-1.3927505298732332,-1.5081266872806407,-1.6269133385152081,-1.7491104835769369,-1.8747181224658258,-2.0037362551818747,-2.136164881725085,-2.2720040020954553,-2.411253616292986,-2.5539137243176775,-2.6999843261695293,-2.8494654218485413,-3.0023570113547144,-3.1586590946880477,-3.318371671848541,-3.4814947428361958,-3.6480283076510114,-3.8179723662929863,-3.9913269187621214,-4.1680919650584185,-4.348267505181875,-4.5318535391324914,-4.718850066910271,-4.909257088515208,-5.103074603947307,-5.300302613206567,-5.500941116292986,0.0]' AS DOUBLE[])
    )["__dpnb_value_0" + 1] + COALESCE(
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
    CAST('-8.591742115095153' AS DOUBLE) + (
      CAST('[-1.2130075659799042,1.213007565979904,0.0,1.213007565979904,0.0]' AS DOUBLE[])
    )["__dpnb_value_3" + 1] + COALESCE(
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
  CAST(CAST("__dpnb_value_0" = 91 AS DOUBLE) + CAST("__dpnb_value_1" IS NULL AS DOUBLE) + CAST("__dpnb_value_2" = 99 AS DOUBLE) + CAST("__dpnb_value_3" = 4 AS DOUBLE) + CAST("__dpnb_value_5" = 10 AS DOUBLE) AS INT) AS "skipped"
FROM "rows_summed"
