/* Written by dpnb-columnar 0.2.0+g6f4ab433b0. */
/* CONFIDENTIAL: computed from the rows without noise; do not release. */
/* Scores rows by a model of test: predicts label: 'no', 'yes'. Holds what the model holds, and no row. */
/* Guarantee: NO GUARANTEE: mechanism none protects nobody. Keep this model as confidential as the rows. */
/* Source: model 87d8bd4f0f6fe88c, the first 16 digits of the SHA-256 of its JSON file. */
/* Use: data scored; set rows; %include 'FILE'; run; */
/* The session's encoding has to be UTF-8. */
length nb_predicted $3;
length nb_score_1 8;
length nb_score_2 8;
length nb_probability_1 8;
length nb_probability_2 8;
length nb_skipped 8;

/* The classes before any attribute is looked at. */
nb_score_1 = (-0.2876820724517809);
nb_score_2 = (-1.3862943611198906);
nb_skipped = 0;

/* age: a number from 0 to 100; missing: '99'. */
_dpnb_read_0 = age;
if age = 99 then _dpnb_read_0 = .;
_dpnb_value_0 = _dpnb_read_0;
if (not missing(abs(_dpnb_read_0)) and abs(_dpnb_read_0) < 1e-58) then _dpnb_value_0 = 0;
if _dpnb_read_0 >= 100 then _dpnb_value_0 = 100;
if (not missing(_dpnb_read_0) and _dpnb_read_0 <= 0) then _dpnb_value_0 = 0;
_dpnb_part_5 = (0.5 * ((((_dpnb_value_0 - 45.5) * 0.08163265306122448) * ((_dpnb_value_0 - 45.5) *
    0.08163265306122448)) - (((_dpnb_value_0 - 30) * 0.09090909090909091) * ((_dpnb_value_0 - 30) *
    0.09090909090909091)))) + 0.11072257564115251;
_dpnb_term_0_0 = _dpnb_part_5;
if _dpnb_part_5 >= 3 then _dpnb_term_0_0 = 3;
if (not missing(_dpnb_part_5) and _dpnb_part_5 < (-3)) then _dpnb_term_0_0 = (-3);
if missing(_dpnb_term_0_0) then _dpnb_term_0_0 = 0;
nb_score_1 = nb_score_1 + _dpnb_term_0_0;
if missing(_dpnb_value_0) then nb_skipped = nb_skipped + 1;

/* money: a number from 0 to 1000000. */
_dpnb_read_1 = money;
_dpnb_value_1 = log(1 + _dpnb_read_1);
if (not missing(abs(_dpnb_read_1)) and abs(_dpnb_read_1) < 1.3815511557963773e-59) then
    _dpnb_value_1 = 0;
if _dpnb_read_1 >= 1000000 then _dpnb_value_1 = 13.815511557963774;
if (not missing(_dpnb_read_1) and _dpnb_read_1 <= 0) then _dpnb_value_1 = 0;
_dpnb_term_1_1 = (1.5714285714285714 * (((_dpnb_value_1 - 6.5) * 0.5714285714285714) -
    0.7857142857142857)) + 0.004436127428930625;
if missing(_dpnb_term_1_1) then _dpnb_term_1_1 = 0;
nb_score_2 = nb_score_2 + _dpnb_term_1_1;
if missing(_dpnb_value_1) then nb_skipped = nb_skipped + 1;

/* hours: a number from 0 to 100. */
_dpnb_read_2 = hours;
_dpnb_value_2 = floorz(((_dpnb_read_2 - 0) / 1) + 0.5);
if _dpnb_read_2 >= 100 then _dpnb_value_2 = 100;
if (not missing(_dpnb_read_2 - 0) and _dpnb_read_2 - 0 < 0.25) then _dpnb_value_2 = 0;
_dpnb_term_2_1 = .;
if _dpnb_value_2 >= 0 then _dpnb_term_2_1 = (-1.7917594692280547);
if _dpnb_value_2 >= 10 then _dpnb_term_2_1 = (-0.10536051565782634);
if _dpnb_value_2 >= 40 then _dpnb_term_2_1 = 0.916290731874155;
if missing(_dpnb_term_2_1) then _dpnb_term_2_1 = 0;
nb_score_2 = nb_score_2 + _dpnb_term_2_1;
if missing(_dpnb_value_2) then nb_skipped = nb_skipped + 1;

/* odd: 'it\'s $HOME `x\' "y" \\ & %z', 'né', '7'. */
_dpnb_read_3 = .;
_dpnb_part_14 = .;
if prxmatch('/^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *$/', odd) and
    length(odd) <= 32 then _dpnb_part_14 = input(strip(odd), 32.);
if _dpnb_part_14 = 7 then _dpnb_read_3 = 2;
if odd = 'it''s $HOME `x'' "y" \ & %z' then _dpnb_read_3 = 0;
if odd = 'né' then _dpnb_read_3 = 1;
if odd = '7' then _dpnb_read_3 = 2;
_dpnb_term_3_1 = .;
if _dpnb_read_3 = 0 then _dpnb_term_3_1 = (-1.6094379124341);
if _dpnb_read_3 = 1 then _dpnb_term_3_1 = (-0.40546510810816416);
if _dpnb_read_3 = 2 then _dpnb_term_3_1 = 1.2527629684953678;
if missing(_dpnb_term_3_1) then _dpnb_term_3_1 = 0;
nb_score_2 = nb_score_2 + _dpnb_term_3_1;
if missing(_dpnb_read_3) then nb_skipped = nb_skipped + 1;

/* Probabilities of the classes, and the first of the likeliest. */
_dpnb_largest = max(nb_score_1, nb_score_2);
_dpnb_weight_0 = exp(nb_score_1 - _dpnb_largest);
if nb_score_1 - _dpnb_largest < (-700) then _dpnb_weight_0 = 0;
_dpnb_weight_1 = exp(nb_score_2 - _dpnb_largest);
if nb_score_2 - _dpnb_largest < (-700) then _dpnb_weight_1 = 0;
_dpnb_total = _dpnb_weight_0 + _dpnb_weight_1;
nb_probability_1 = _dpnb_weight_0 / _dpnb_total;
nb_probability_2 = _dpnb_weight_1 / _dpnb_total;
nb_predicted = '';
if _dpnb_weight_1 / _dpnb_total = 1 / _dpnb_total then nb_predicted = 'yes';
if _dpnb_weight_0 / _dpnb_total = 1 / _dpnb_total then nb_predicted = 'no';

label nb_predicted = 'Predicted class';
label nb_score_1 = 'Score of class no';
label nb_score_2 = 'Score of class yes';
label nb_probability_1 = 'Probability of class no';
label nb_probability_2 = 'Probability of class yes';
label nb_skipped = 'Attributes left out of the row''s score';
drop _dpnb_:;
