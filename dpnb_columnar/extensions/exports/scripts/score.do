* Use: with the rows in memory, do @script@. Stata 14 or later.
* Rows of the table become statements of two do-files, which are run and erased.
version 14
tempfile terms line
tempname code
forvalues k = 1/@places@ {
    generate double nb_s`k' = 0
    generate double nb_t`k' = 0
}
generate double nb_x = .
preserve
import delimited "@table@", clear varnames(1) stringcols(_all) bindquotes(strict) encoding("utf-8")
foreach part in terms line {
    file open `code' using "``part''", write text
    forvalues i = 1/`=_N' {
        local k = mod(`i' - 1, @places@) + 1
        foreach cell in attribute match value class term center slope curve limit {
            local `cell' = `cell'[`i']
        }
        if ("`match'" == "line") != ("`part'" == "line") continue
        if "`match'" == "others" {
            if "`slope'" == "" & `k' < @places@ local largest `k'
            if "`slope'" != "" local evidence `slope'
            local constant`k' `term'
            continue
        }
        local x nb_x
        if "`match'" == "log" local x ln(1 + nb_x)
        local t `term'
        if "`slope'" != "" {
            local d (`x' - (`center'))
            local t max(-`limit', min(`limit', `term' + (`slope' + (`curve') * `d') * `d'))
        }
        local is nb_x == `value'
        if inlist("`match'", "from", "log", "line") local is nb_x >= `value' & !missing(nb_x)
        if "`value'" == "" local is !missing(nb_x)
        if "`match'" == "text" local is `attribute' == "`value'"
        if "`match'" != "other" {
            file write `code' `"replace nb_t`k' = `t' if `is'"' _n
            continue
        }
        if "`attribute'" == "" & `k' < @places@ local class`k' `"`class'"'
        if "`value'" == "number" & `k' == 1 file write `code' `"replace nb_x = `attribute'"' _n
        if "`value'" == "both" & `k' == 1 {
            file write `code' `"replace nb_x = ."' _n `"replace nb_x = real(strtrim(`attribute')) if "'
            file write `code' `"ustrregexm(`attribute', "^@spelled@\z") "'
            file write `code' `"& strlen(`attribute') <= 64"' _n
        }
        file write `code' `"replace nb_s`k' = nb_s`k' + nb_t`k'"' _n `"replace nb_t`k' = `t'"' _n
    }
    file close `code'
}
restore
quietly do "`terms'"
forvalues k = 1/@places@ {
    quietly replace nb_s`k' = nb_s`k' + nb_t`k'
}
rename nb_s@places@ nb_skipped
generate double nb_top = -8e307
generate double nb_sum = 0
if "`largest'" != "" {
    generate double nb_best = -8e307
    generate nb_which = 0
    forvalues k = 1/@classes@ {
        if `k' == `largest' continue
        generate double nb_a`k' = `constant`k'' + `evidence' * nb_s`k'
        quietly replace nb_top = max(nb_top, nb_a`k')
        quietly replace nb_which = `k' if nb_s`k' > nb_best
        quietly replace nb_best = max(nb_best, nb_s`k')
    }
    quietly replace nb_x = nb_best - nb_s`largest'
    quietly do "`line'"
    forvalues k = 1/@classes@ {
        if `k' == `largest' continue
        quietly replace nb_a`k' = max(nb_a`k' - nb_top, -300)
        quietly replace nb_sum = nb_sum + exp(nb_a`k') if nb_which != `k'
    }
    forvalues k = 1/@classes@ {
        quietly replace nb_s`k' = 0
        if `k' == `largest' continue
        quietly replace nb_s`k' = nb_t`k' if nb_which == `k'
        quietly replace nb_s`k' = min(nb_t`k' + ln(1 - 2^-20), nb_t@places@ + nb_a`k' - ln(nb_sum)) ///
            if nb_which != `k'
        drop nb_a`k'
    }
    drop nb_best nb_which
}
quietly replace nb_top = nb_s1
forvalues k = 2/@classes@ {
    quietly replace nb_top = max(nb_top, nb_s`k')
}
quietly replace nb_sum = 0
forvalues k = 1/@classes@ {
    quietly replace nb_sum = nb_sum + exp(nb_s`k' - nb_top)
}
generate str@width@ nb_predicted = ""
quietly replace nb_x = -1
forvalues k = 1/@classes@ {
    generate double nb_probability_`k' = exp(nb_s`k' - nb_top) / nb_sum
    label variable nb_probability_`k' `"`class`k''"'
    quietly replace nb_predicted = `"`class`k''"' if nb_probability_`k' > nb_x
    quietly replace nb_x = max(nb_x, nb_probability_`k')
    drop nb_s`k'
}
drop nb_x nb_sum nb_t*
