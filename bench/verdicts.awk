# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# awk -f bench/verdicts.awk bench/targets FIGURES: the table of figures with a target. Of a figure with quartiles (NAME_q1,
# NAME_q3) it says `unstable` where these are more than 15 % of it apart or more than half of its rounds are left out
# (NAME_left_out, `N /ROUNDS`), and `at the target` where they enclose the target. Targets of figures that FIGURES does not
# have, because other groups have them, are counted below.

BEGIN { UNSTABLE = 0.15 }

/^ *(#|$)/ { next }
NR == FNR {
    targets[++n] = $1
    way[$1] = $2
    wanted[$1] = $3
    next
}
NF == 3 { value[$1] = $2; unit[$1] = $3 }

function is_number(v) { return v ~ /^[-+]?[0-9.]/ }

function verdict(name,    v, t, q1, q3, rounds) {
    v = value[name]
    t = wanted[name]
    if (!is_number(v))
        return v == "void" ? "void" : "not measured"
    rounds = substr(unit[name "_left_out"], 2)
    if (2 * value[name "_left_out"] > rounds + 0)
        return "unstable: " value[name "_left_out"] " of " rounds " rounds are left out"
    q1 = value[name "_q1"]
    q3 = value[name "_q3"]
    if (is_number(q1) && is_number(q3)) {
        if (q3 - q1 > UNSTABLE * (v < 0 ? -v : v))
            return sprintf("unstable: quartiles %s and %s", q1, q3)
        if (q1 + 0 <= t + 0 && t + 0 <= q3 + 0)
            return sprintf("at the target: quartiles %s and %s", q1, q3)
    }
    if (way[name] == "<=" ? v + 0 <= t + 0 : v + 0 >= t + 0)
        return "met"
    return sprintf(t + 0 ? "missed by %.0f %%" : "missed", 100 * (v > t + 0 ? v / t - 1 : 1 - v / t))
}

END {
    for (i = 1; i <= n; i++)
        if (targets[i] in value)
            row[++rows] = targets[i]
    if (rows) {
        printf "%-40s %14s %18s  %s\n", "figure", "value", "target", "verdict"
        for (i = 1; i <= rows; i++)
            printf "%-40s %14s %18s  %s\n", row[i], value[row[i]], way[row[i]] " " wanted[row[i]] " " unit[row[i]], verdict(row[i])
    }
    if (rows < n)
        printf "%d targets are of figures that were not asked for.\n", n - rows
}
