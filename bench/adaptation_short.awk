# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# The figures of the short form, of the rows that bench/adaptation_run printed: one of each policy, same disturbance and seed, from
# a polling period of 1 us, and of some from another one too; and one of elastic where nothing disturbs.
BEGIN { FS = ","; HELD = 0.99; LEAST = 0.001 }

NR == 1 {
    for (i = 1; i <= NF; i++)
        column[$i] = i
    next
}

$1 == "elastic" && $5 == "steady" {
    steady = $column["steady_changes_per_10s"]
    next
}

$1 != "off" && $1 != "none" && $1 != "plain" {
    p = $1 ($column["period_us"] == 1 ? "" : "-from-" $column["period_us"] "us")
    policies[++n] = p
    for (name in column)
        value[p, name] = $column[name]
    exceed[p] = value[p, "exceed_fps"] + value[p, "exceed_cpu"]
}

function figure(name, policy, what, unit) {
    print name, (value[policy, what] == "" ? "n/a" : value[policy, what]), unit
}

# Of SPP and DPP, literal and repaired, the one that holds the limits and delivers most; where none holds, the one nearest to it.
function find_best(    i, p, best, holds, better) {
    for (i = 1; i <= n; i++) {
        p = policies[i]
        if (p !~ /^[sd]pp/ || value[p, "held_share"] == "")
            continue
        holds = value[p, "held_share"] >= HELD
        if (best == "")
            better = 1
        else if (holds != (value[best, "held_share"] >= HELD))
            better = holds
        else if (holds)
            better = value[p, "delivered_per_s"] > value[best, "delivered_per_s"]
        else
            better = value[p, "held_share"] > value[best, "held_share"]
        if (better)
            best = p
    }
    return best
}

END {
    figure("limits_held_share", "elastic", "held_share", "ratio")
    print "period_changes_per_10s", (steady == "" ? "n/a" : steady), "1"
    figure("settling_sampling_periods", "elastic", "settling", "1")
    best = find_best()
    if (best == "" || value["elastic", "held_share"] == "") {
        print "exceedance_over_best n/a ratio"
        print "delivered_over_best n/a ratio"
    } else {
        printf "exceedance_over_best %.3f ratio\n", (exceed["elastic"] + LEAST) / (exceed[best] + LEAST)
        if (value[best, "delivered_per_s"] + 0 == 0)
            print "delivered_over_best n/a ratio"
        else
            printf "delivered_over_best %.3f ratio\n", value["elastic", "delivered_per_s"] / value[best, "delivered_per_s"]
        printf "bench/adaptation: the best of SPP and DPP is %s, which held in %.4f\n", best, value[best, "held_share"] >"/dev/stderr"
    }
    for (i = 1; i <= n; i++) {
        p = policies[i]
        name = p
        gsub("-", "_", name)
        figure(name "_held_share", p, "held_share", "ratio")
        printf "%s_exceedance %.4f ratio\n", name, exceed[p]
        figure(name "_delivered_per_s", p, "delivered_per_s", "1/s")
        figure(name "_changes_per_10s", p, "changes_per_10s", "1")
        figure(name "_settling_sampling_periods", p, "settling", "1")
    }
}
