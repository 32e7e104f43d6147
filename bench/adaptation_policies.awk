# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Part `policies` of bench/adaptation_plan for bench/adaptation_tables.awk, of whose rows these tables are: all policies beside each
# other, and against the targets of the design. Means are of repetitions, of each the mean over disturbances: disturbances are no
# chance, so their differences do not belong into an interval. What is compared is so over the same disturbances, and ratios over the
# same runs of both.
BEGIN {
    HELD = 0.99
    CHANGES = 1 # in 10 s
    SETTLING = 10 # sampling periods
    EXCEEDANCE = 1
    DELIVERED = 1.1
    LEAST = 0.001 # as in bench/adaptation_short.awk
    part_policies = "spp dpp dpp-band elastic integral aimd"
    rivals = "spp dpp dpp-band"
    part_disturbances = "steady stress clients records"
}

# ---- Runs of the part ------------------------------------------------------------------------------------------------

function of_part(policy, by, disturbance) {
    return configuration(policy, by, policy == "off" ? "-" : 1000, 100, disturbance, "batch", 4096)
}

# NAME of a run, or nothing; `exceedance` is of both limits.
function of_run(k, repetition, name,    j, cpu) {
    if (!((k, repetition) in run_at))
        return ""
    j = run_at[k, repetition]
    if (name != "exceedance")
        return value[k, j, name]
    cpu = value[k, j, "exceed_cpu"]
    return value[k, j, "exceed_fps"] == "" || cpu == "" ? "" : value[k, j, "exceed_fps"] + cpu
}

# Sets run_at, and `among` to the disturbances under which a policy was run: of others, that are void, there are controls alone.
function find_runs(    i, j, n, d, p, m, name) {
    for (i = 1; i <= known; i++)
        for (j = 1; j <= count[keys[i]]; j++)
            run_at[keys[i], value[keys[i], j, "repetition"] + 0] = j
    n = split(part_disturbances, d, " ")
    m = split(part_policies, name, " ")
    for (i = 1; i <= n; i++) {
        for (p = 1; p <= m; p++)
            if (of_part(name[p], "node", d[i]) in count || of_part(name[p], "manager", d[i]) in count)
                break
        if (p <= m)
            among = among (among ? " " : "") d[i]
        else
            void = void (void ? ", " : "") d[i]
    }
}

# Those of the disturbances LIST under which there is no run.
function lacks(policy, by, list,    i, n, d, missing) {
    n = split(list, d, " ")
    for (i = 1; i <= n; i++)
        if (!(of_part(policy, by, d[i]) in count))
            missing = missing (missing ? ", " : "") d[i]
    return missing
}

# Fills policy and by with the rows of a table: the controls, then each policy by each scheduling; returns how many.
function all_rows(policy, by,    i, n, p, count) {
    n = split("off none", policy, " ")
    by[1] = by[2] = "-"
    count = split(part_policies, p, " ")
    for (i = 1; i <= count; i++) {
        policy[++n] = p[i]
        by[n] = "node"
        policy[++n] = p[i]
        by[n] = "manager"
    }
    return n
}

# For note(), which tells what is left out of a table.
function leave_out(policy, by, missing) { left = left (left ? "; " : "") row_name(policy, by) " (no run: " missing ")" }

function row_name(policy, by) { return policy (by == "-" ? "" : ", " by) }

function note() {
    if (left)
        print "\nLeft out: " left "."
    left = ""
    print ""
}

# Fills x with NAME of each repetition, the mean over the disturbances LIST, and each with NAME of the runs it is of; returns how many
# repetitions. One in which it is not known under all of them is left out.
function by_repetition(policy, by, list, name, x, each,    n, d, i, r, v, sum, found) {
    n = split(list, d, " ")
    for (r = 1; r <= repetitions; r++) {
        sum = 0
        for (i = 1; i <= n; i++) {
            v = of_run(of_part(policy, by, d[i]), r, name)
            if (v == "")
                break
            each[found * n + i] = v + 0
            sum += v
        }
        if (i > n)
            x[++found] = sum / n
    }
    return found + 0
}

# ---- Cells -----------------------------------------------------------------------------------------------------------

# Mean and half of the interval; the number of repetitions where it is another than OF.
function spread(x, n, format, of) {
    if (n == 0)
        return "–"
    return sprintf(format, mean(x, n)) (n > 1 ? " ± " sprintf(format, mean_half(x, n)) : "") (n != of ? " (of " n ")" : "")
}

function part_cell(policy, by, list, name, format, of,    x, each) {
    return spread(x, by_repetition(policy, by, list, name, x, each), format, of)
}

# Of x[1..n], which it sorts.
function median(x, n) {
    sort(x, n)
    return n % 2 ? x[(n + 1) / 2] : (x[n / 2] + x[n / 2 + 1]) / 2
}

# "MEDIAN SHARE" of the runs' settling, and of those that settled in time; or nothing.
function settled(policy, by, list,    x, each, n, i, d, share) {
    n = by_repetition(policy, by, list, "settling", x, each) * split(list, d, " ")
    for (i = 1; i <= n; i++)
        share += each[i] <= SETTLING
    return n ? median(each, n) " " share / n : ""
}

# Whether V is at least (SIDE 1) or at most (-1) BOUND, in words; counts into met and judged.
function verdict(v, bound, side,    miss) {
    miss = side * (bound - v)
    judged++
    if (miss <= 1e-9) {
        met++
        return ": met"
    }
    return ": missed by " sprintf(miss < 10 ? "%.2g" : "%.0f", miss)
}

# ---- All beside each other -------------------------------------------------------------------------------------------

function policy_row(policy, by,    n, i, name, format, x, each, of, s) {
    if (lacks(policy, by, among)) {
        leave_out(policy, by, lacks(policy, by, among))
        return
    }
    n = split("held_share exceed_fps exceed_cpu delivered_per_s fps_min lost changes_per_10s steady_changes_per_10s", name, " ")
    split("%.4f %.4f %.4f %.0f %.2f %.2f %.2f %.2f", format, " ")
    of = by_repetition(policy, by, among, "delivered_per_s", x, each)
    printf "| %s | %d", row_name(policy, by), of
    for (i = 1; i <= n; i++)
        printf " | %s", part_cell(policy, by, among, name[i], format[i], of)
    if (split(settled(policy, by, among), s, " "))
        printf " | %s | %.0f |\n", s[1], 100 * s[2]
    else
        print " | – | – |"
}

function policies_table(    i, n, policy, by) {
    print "## Policies\n"
    print "From a polling period of 1 ms, sampling period 100 ms; `none` stays at 1 ms. Means over disturbances (" spaced(among) "),"
    print "with half of the interval of 90 % over repetitions, where there are several; a repetition that lacks a value under one of them"
    print "does not count. (of N): of so many repetitions only. Settling: median of the runs, and percent of those that settled within"
    print SETTLING " sampling periods."
    if (void)
        print "Void, or not run: " void "."
    print "\n| policy, scheduling | repetitions | held_share | exceed_fps | exceed_cpu | delivered_per_s | fps_min | lost, % | changes_per_10s" \
        " | steady_changes_per_10s | settling | settled, % |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    n = all_rows(policy, by)
    for (i = 1; i <= n; i++)
        policy_row(policy[i], by[i])
    note()
}

function spaced(list) {
    gsub(" ", ", ", list)
    return list
}

function disturbance_row(policy, by,    i, n, d, most, x, each, of) {
    if (lacks(policy, by, among) == spaced(among))
        return
    n = split(among, d, " ")
    printf "| %s", row_name(policy, by)
    for (i = 1; i <= n; i++) {
        of = by_repetition(policy, by, d[i], "delivered_per_s", x, each)
        split("", x)
        printf " | %s | %s", part_cell(policy, by, d[i], "held_share", "%.4f", repetitions), \
            part_cell(policy, by, d[i], "delivered_per_s", "%.0f", repetitions)
    }
    print " |"
}

function disturbances_table(    i, n, d, policy, by) {
    print "### Under each disturbance\n"
    print "held_share, and records delivered a second; – where there is no run, or nothing is known.\n"
    n = split(among, d, " ")
    printf "| policy, scheduling"
    for (i = 1; i <= n; i++)
        printf " | %s: held | delivered", d[i]
    printf " |\n|---"
    for (i = 1; i <= n; i++)
        printf "|---|---"
    print "|"
    n = all_rows(policy, by)
    for (i = 1; i <= n; i++)
        disturbance_row(policy[i], by[i])
    print ""
}

# ---- Against the targets ---------------------------------------------------------------------------------------------

# Fills set with "REPETITION DISTURBANCE" of the runs in which all is known of each of WHO; returns how many.
function common(who, by, list, set,    n, m, d, p, r, i, j, k, found) {
    n = split(list, d, " ")
    m = split(who, p, " ")
    for (r = 1; r <= repetitions; r++)
        for (i = 1; i <= n; i++) {
            for (j = 1; j <= m; j++) {
                k = of_part(p[j], by, d[i])
                if (of_run(k, r, "held_share") == "" || of_run(k, r, "exceedance") == "" || of_run(k, r, "delivered_per_s") == "")
                    break
            }
            if (j > m)
                set[++found] = r " " d[i]
        }
    return found + 0
}

function in_common(policy, by, set, i, name,    at) {
    split(set[i], at, " ")
    return of_run(of_part(policy, by, at[2]), at[1], name)
}

function mean_of(policy, by, set, n, name,    i, sum) {
    for (i = 1; i <= n; i++)
        sum += in_common(policy, by, set, i, name)
    return sum / n
}

# The best of RIVALS: of those that hold the limits the one that delivers most; where none holds them, the nearest to it.
function best_of(rivals, by, set, n,    i, m, p, held, delivered, holds, best, best_held, best_delivered, better) {
    m = split(rivals, p, " ")
    for (i = 1; i <= m; i++) {
        held = mean_of(p[i], by, set, n, "held_share")
        delivered = mean_of(p[i], by, set, n, "delivered_per_s")
        holds = held >= HELD
        if (best == "" || holds != (best_held >= HELD))
            better = best == "" || holds
        else
            better = holds ? delivered > best_delivered : held > best_held
        if (better) {
            best = p[i]
            best_held = held
            best_delivered = delivered
        }
    }
    return best
}

# NAME of POLICY over that of RIVAL, sums over SET, LEAST added to each run's; into answer["ratio"] and answer["half"], half of its
# interval, of the sums of each repetition: the variance of a ratio is to the first order that of what is left of it. 0 where
# nothing can be divided by.
function ratio(policy, rival, by, set, n, name, least, answer,    i, r, at, y, x, ys, xs, rest, found) {
    for (i = 1; i <= n; i++) {
        split(set[i], at, " ")
        r = at[1]
        y[r] += in_common(policy, by, set, i, name) + least
        x[r] += in_common(rival, by, set, i, name) + least
    }
    for (r in x) {
        ys += y[r]
        xs += x[r]
        found++
    }
    if (xs <= 0)
        return 0
    answer["ratio"] = ys / xs
    i = 0
    for (r in x)
        rest[++i] = (y[r] - answer["ratio"] * x[r]) * found / xs
    answer["half"] = found > 1 ? sprintf(" ± %.3f", mean_half(rest, found)) : ""
    return 1
}

# Three cells: the best, and how POLICY compares to it.
function against_best(policy, by, list,    n, m, i, p, with, without, set, runs, best, answer) {
    m = split(rivals, p, " ")
    for (i = 1; i <= m; i++)
        if (lacks(p[i], by, list))
            without = without (without ? ", " : "; without ") p[i]
        else
            with = with " " p[i]
    n = with ? common(policy with, by, list, set) : 0
    if (!n)
        return "– | 0 | – | –"
    runs = split(list, p, " ") * repetitions
    runs = n (n == runs ? "" : " of " runs)
    best = best_of(with, by, set, n)
    with = sprintf("%s, held %.4f%s | %s", best, mean_of(best, by, set, n, "held_share"), without, runs)
    if (ratio(policy, best, by, set, n, "delivered_per_s", 0, answer))
        with = with " | " sprintf("%.3f%s", answer["ratio"], answer["half"]) verdict(answer["ratio"], DELIVERED, 1)
    else
        with = with " | – (it delivered nothing)"
    ratio(policy, best, by, set, n, "exceedance", LEAST, answer)
    return with " | " sprintf("%.3f%s", answer["ratio"], answer["half"]) verdict(answer["ratio"], EXCEEDANCE, -1)
}

# A cell of POLICY alone.
function target_cell(policy, by, list, name, format, bound, side,    x, each, n) {
    n = by_repetition(policy, by, list, name, x, each)
    return n ? spread(x, n, format, repetitions) verdict(mean(x, n), bound, side) : "–"
}

function target_row(policy, by, list, name,    s, line) {
    if (lacks(policy, by, list)) {
        if (list == among)
            leave_out(policy, by, lacks(policy, by, list))
        return
    }
    met = judged = 0
    line = "| " row_name(policy, by) " | " name " | " target_cell(policy, by, list, "held_share", "%.4f", HELD, 1) " | " \
        target_cell(policy, by, list, "steady_changes_per_10s", "%.2f", CHANGES, -1)
    line = line " | " (split(settled(policy, by, list), s, " ") ? s[1] ", " sprintf("%.0f %%", 100 * s[2]) verdict(s[1], SETTLING, -1) : "–")
    line = line " | " against_best(policy, by, list)
    print line " | " met " of " judged " |"
}

function targets_table(    b, i, n, d, bys, policy, p, m) {
    print "### Against the targets\n"
    print "Held in " HELD " of the instants at which `off` holds; at most " CHANGES " change in 10 s in steady state; settled within " SETTLING
    print "sampling periods after the metric's window (median; and how many runs do); at least " DELIVERED " times the records of the best of"
    print "SPP and DPP, as they were or repaired, and no more exceedance (of both limits, plus " LEAST "). The best is, of those that hold"
    print "in " HELD ", the one that delivers most, or, where none does, the one that holds longest; of the same scheduling. Ratios are of"
    print "sums over the runs, of the same repetition and disturbance, that all who are compared have. What is met is judged by the"
    print "mean, whatever its interval.\n"
    print "| policy, scheduling | disturbance | held_share | steady_changes_per_10s | settling | best of SPP and DPP | runs" \
        " | delivered | exceedance | met |"
    print "|---|---|---|---|---|---|---|---|---|---|"
    n = split(among, d, " ")
    m = split(part_policies, policy, " ")
    split("node manager", bys, " ")
    for (b = 1; b <= 2; b++)
        for (p = 1; p <= m; p++) {
            if (index(" " rivals " ", " " policy[p] " "))
                continue
            target_row(policy[p], bys[b], among, n > 1 ? "all" : among)
            for (i = 1; i <= n && n > 1 && policy[p] == "elastic"; i++)
                target_row(policy[p], bys[b], d[i], d[i])
        }
    note()
}

function part_of_policies() {
    find_runs()
    if (!among)
        return
    policies_table()
    disturbances_table()
    targets_table()
}
