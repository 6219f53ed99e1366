* Written by dpnb-columnar 0.2.0+g6f4ab433b0.
* CONFIDENTIAL: computed from the rows without noise; do not release.
* Scores rows by a model of test: predicts label: 'no', 'yes'. Holds what the model holds, and no row.
* Guarantee: NO GUARANTEE: mechanism none protects nobody. Keep this model as confidential as the rows.
* Source: model 87d8bd4f0f6fe88c, the first 16 digits of the SHA-256 of its JSON file.
* Use: with the rows in memory, do FILE. Stata 14 or later.
version 14
set more off
confirm numeric variable age
confirm numeric variable money
confirm numeric variable hours
confirm string variable odd

* The classes before any attribute is looked at.
generate double nb_score_1 = (-0.2876820724517809)
generate double nb_score_2 = (-1.3862943611198906)
generate double nb_skipped = 0

* age: a number from 0 to 100; missing: '99'.
generate double _dpnb_read_0 = age
replace _dpnb_read_0 = . if age == 99
generate double _dpnb_value_0 = _dpnb_read_0
replace _dpnb_value_0 = 0 if abs(_dpnb_read_0) < 1e-58
replace _dpnb_value_0 = 100 if (_dpnb_read_0 >= 100 & !missing(_dpnb_read_0))
replace _dpnb_value_0 = 0 if _dpnb_read_0 <= 0
generate double _dpnb_part_5 = (0.5 * ((((_dpnb_value_0 - 45.5) * 0.08163265306122448) * ///
    ((_dpnb_value_0 - 45.5) * 0.08163265306122448)) - (((_dpnb_value_0 - 30) * 0.09090909090909091) * ///
    ((_dpnb_value_0 - 30) * 0.09090909090909091)))) + 0.11072257564115251
generate double _dpnb_term_0_0 = _dpnb_part_5
replace _dpnb_term_0_0 = 3 if (_dpnb_part_5 >= 3 & !missing(_dpnb_part_5))
replace _dpnb_term_0_0 = (-3) if _dpnb_part_5 < (-3)
replace _dpnb_term_0_0 = 0 if missing(_dpnb_term_0_0)
replace nb_score_1 = nb_score_1 + _dpnb_term_0_0
replace nb_skipped = nb_skipped + 1 if missing(_dpnb_value_0)
drop _dpnb_read_0 _dpnb_value_0 _dpnb_part_5 _dpnb_term_0_0

* money: a number from 0 to 1000000.
generate double _dpnb_read_1 = money
generate double _dpnb_value_1 = ln(1 + _dpnb_read_1)
replace _dpnb_value_1 = 0 if abs(_dpnb_read_1) < 1.3815511557963773e-59
replace _dpnb_value_1 = 13.815511557963774 if (_dpnb_read_1 >= 1000000 & !missing(_dpnb_read_1))
replace _dpnb_value_1 = 0 if _dpnb_read_1 <= 0
generate double _dpnb_term_1_1 = (1.5714285714285714 * (((_dpnb_value_1 - 6.5) * 0.5714285714285714) - ///
    0.7857142857142857)) + 0.004436127428930625
replace _dpnb_term_1_1 = 0 if missing(_dpnb_term_1_1)
replace nb_score_2 = nb_score_2 + _dpnb_term_1_1
replace nb_skipped = nb_skipped + 1 if missing(_dpnb_value_1)
drop _dpnb_read_1 _dpnb_value_1 _dpnb_term_1_1

* hours: a number from 0 to 100.
generate double _dpnb_read_2 = hours
generate double _dpnb_value_2 = floor(((_dpnb_read_2 - 0) / 1) + 0.5)
replace _dpnb_value_2 = 100 if (_dpnb_read_2 >= 100 & !missing(_dpnb_read_2))
replace _dpnb_value_2 = 0 if _dpnb_read_2 - 0 < 0.25
generate double _dpnb_term_2_1 = .
replace _dpnb_term_2_1 = (-1.7917594692280547) if (_dpnb_value_2 >= 0 & !missing(_dpnb_value_2))
replace _dpnb_term_2_1 = (-0.10536051565782634) if (_dpnb_value_2 >= 10 & !missing(_dpnb_value_2))
replace _dpnb_term_2_1 = 0.916290731874155 if (_dpnb_value_2 >= 40 & !missing(_dpnb_value_2))
replace _dpnb_term_2_1 = 0 if missing(_dpnb_term_2_1)
replace nb_score_2 = nb_score_2 + _dpnb_term_2_1
replace nb_skipped = nb_skipped + 1 if missing(_dpnb_value_2)
drop _dpnb_read_2 _dpnb_value_2 _dpnb_term_2_1

* odd: 'it\'s ?HOME 'x\' "y" \\ & %z', 'né', '7'.
generate double _dpnb_read_3 = .
generate double _dpnb_part_4 = .
replace _dpnb_part_4 = real(strtrim(odd)) if ustrregexm(odd, ///
    ("^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])" + "? *" + char(36))) & ///
    strlen(odd) <= 64
replace _dpnb_read_3 = 2 if _dpnb_part_4 == 7
replace _dpnb_read_3 = 0 if odd == ("it's " + char(36) + "HOME " + char(96) + "x' " + char(34) + "y" + ///
    char(34) + " " + char(92) + " & %z")
replace _dpnb_read_3 = 1 if odd == "né"
replace _dpnb_read_3 = 2 if odd == "7"
generate double _dpnb_term_3_1 = .
replace _dpnb_term_3_1 = (-1.6094379124341) if _dpnb_read_3 == 0
replace _dpnb_term_3_1 = (-0.40546510810816416) if _dpnb_read_3 == 1
replace _dpnb_term_3_1 = 1.2527629684953678 if _dpnb_read_3 == 2
replace _dpnb_term_3_1 = 0 if missing(_dpnb_term_3_1)
replace nb_score_2 = nb_score_2 + _dpnb_term_3_1
replace nb_skipped = nb_skipped + 1 if missing(_dpnb_read_3)
drop _dpnb_read_3 _dpnb_part_4 _dpnb_term_3_1

* Probabilities of the classes, and the first of the likeliest.
generate double _dpnb_largest = max(nb_score_1, nb_score_2)
generate double _dpnb_weight_0 = exp(nb_score_1 - _dpnb_largest)
replace _dpnb_weight_0 = 0 if nb_score_1 - _dpnb_largest < (-700)
generate double _dpnb_weight_1 = exp(nb_score_2 - _dpnb_largest)
replace _dpnb_weight_1 = 0 if nb_score_2 - _dpnb_largest < (-700)
generate double _dpnb_total = _dpnb_weight_0 + _dpnb_weight_1
generate double nb_probability_1 = _dpnb_weight_0 / _dpnb_total
generate double nb_probability_2 = _dpnb_weight_1 / _dpnb_total
generate str3 nb_predicted = ""
replace nb_predicted = "yes" if _dpnb_weight_1 / _dpnb_total == 1 / _dpnb_total
replace nb_predicted = "no" if _dpnb_weight_0 / _dpnb_total == 1 / _dpnb_total
drop _dpnb_largest _dpnb_weight_0 _dpnb_weight_1 _dpnb_total

label variable nb_predicted "Predicted class"
label variable nb_score_1 "Score of class no"
label variable nb_score_2 "Score of class yes"
label variable nb_probability_1 "Probability of class no"
label variable nb_probability_2 "Probability of class yes"
label variable nb_skipped "Attributes left out of the row's score"
