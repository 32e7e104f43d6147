# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# awk -f bench/statistics.awk -f bench/adaptation_policies.awk -f bench/adaptation_tables.awk -v output=FOLDER bench/dissertation.csv
# RUNS.CSV: the tables of the experiment on adaptation, as Markdown on standard output, and what its plots are drawn of as
# FOLDER/NAME.data.
BEGIN {
    FS = ","
    metrics = split("fps sensor_cpu latency_ms en_route lost", metric, " ")
    title["fps"] = "frames/s"
    title["sensor_cpu"] = "sensor CPU, %"
    title["latency_ms"] = "latency, ms"
    title["en_route"] = "en route, %"
    title["lost"] = "lost, %"
    letters = "ABCD"
}

/^#/ { next }

FILENAME != reading {
    reading = FILENAME
    file++
    for (i in column)
        delete column[i]
    for (i = 1; i <= NF; i++)
        column[$i] = i
    next
}

# The dissertation's hold-back ratio is what we call en route.
file == 1 {
    printed_rows++
    at = ($1 == 0.001 ? 0 : 1) + 2 * ($2 == 0.001 ? 0 : 1) + 4 * ($3 == "spp" ? 0 : 1) + 8 * ($4 == "node" ? 0 : 1)
    printed[at, "fps"] = $5
    printed[at, "sensor_cpu"] = $6
    printed[at, "latency_ms"] = $7
    printed[at, "en_route"] = $8
    printed[at, "lost"] = $9
    next
}

{
    k = $1 "," $2 "," $3 "," $4 "," $5 "," $6 "," $7
    if (!(k in count))
        keys[++known] = k
    count[k]++
    for (name in column)
        value[k, count[k], name] = name == "en_route" || name == "lost" ? percent($column[name]) : $column[name]
    rows++
    if ($column["repetition"] + 0 > repetitions + 0)
        repetitions = $column["repetition"]
    seconds = $column["seconds"]
}

function percent(x) { return x == "" ? "" : 100 * x }

# Fills x with what is known of column NAME of configuration K; returns how many there are.
function take(k, name, x,    j, n) {
    if (!(k in count))
        return 0
    for (j = 1; j <= count[k]; j++)
        if (value[k, j, name] != "")
            x[++n] = value[k, j, name] + 0
    return n + 0
}

# Mean and half of the interval, or a dash. K NAME
function cell(k, name,    x, n) {
    n = take(k, name, x)
    if (n == 0)
        return "–"
    return number(mean(x, n)) (n > 1 ? " ± " number(mean_half(x, n)) : "")
}

function number(v) { return v != 0 && v < 0.1 && v > -0.1 ? sprintf("%.2g", v) : sprintf("%.2f", v) }

# The same for gnuplot: "mean half", or nothing.
function point(k, name,    x, n) {
    n = take(k, name, x)
    return n ? mean(x, n) " " mean_half(x, n) : "nan 0"
}

function configuration(policy, by, period, every, disturbance, forward, ring) {
    return policy "," by "," period "," every "," disturbance "," forward "," ring
}

# ---- Table 6-11 and figure 6-20 --------------------------------------------------------------------------------------

# The configuration of experiment I of the 2^4 design: A period, B sampling period, C policy, D scheduling.
function experiment_of(i) {
    return configuration(int(i / 4) % 2 ? "dpp" : "spp", int(i / 8) % 2 ? "manager" : "node", i % 2 ? 100000 : 1,
        int(i / 2) % 2 ? 100 : 1, "steady", "batch", 4096)
}

function table(    i, m, k) {
    print "## Table 6-11\n"
    print "Each cell: the dissertation's / ours, with half of the interval of 90 %.\n"
    printf "| period, ms | sampling, ms | policy, scheduling"
    for (m = 1; m <= metrics; m++)
        printf " | %s", title[metric[m]]
    printf " |\n|---|---|---"
    for (m = 1; m <= metrics; m++)
        printf "|---"
    print "|"
    for (i = 0; i < 16; i++) {
        k = experiment_of(i)
        printf("| %s | %s | %s, %s", i % 2 ? "100" : "0.001", int(i / 2) % 2 ? "100" : "0.001 / 1", int(i / 4) % 2 ? "DPP" : "SPP",
            int(i / 8) ? "central" : "distributed")
        for (m = 1; m <= metrics; m++)
            printf " | %s / %s", printed[i, metric[m]], (k in count) ? cell(k, metric[m]) : "–"
        print " |"
    }
    print ""
}

function effect_name(e,    f, name) {
    for (f = 0; f < 4; f++)
        if (int(e / 2 ^ f) % 2)
            name = name substr(letters, f + 1, 1)
    return name
}

# Fills y with ours for NAME, as many repetitions of each of the 2^K experiments as the poorest has; returns how many.
function ours(factors, name, y,    i, j, n, least, x) {
    least = -1
    for (i = 0; i < 2 ^ factors; i++) {
        split("", x)
        n = take(experiment_of(i), name, x)
        for (j = 1; j <= n; j++)
            y[i, j] = x[j]
        if (least < 0 || n < least)
            least = n
    }
    return least
}

# One line a metric: the shares of all effects, of what is printed or of ours.
function shares_line(whose, name, factors, r, y,    e, effect, share) {
    factorial(factors, r, y, effect, share)
    printf "| %s | %s", title[name], whose
    for (e = 1; e < 2 ^ factors; e++) {
        printf " | %.1f", share[e]
        print effect_name(e), share[e] >(output "/figure-6-20-" name "-" whose ".data")
    }
    printf " | %.1f |\n", share["error"]
}

function allocation(    factors, e, m, i, r, y) {
    factors = 4
    for (i = 8; i < 16; i++)
        if (!(experiment_of(i) in count))
            factors = 3
    print "## Figure 6-20: what explains the variation, percent\n"
    print "A: polling period at the start. B: sampling period. C: policy. D: scheduling. The dissertation prints a chart; its shares are"
    print "computed here from its table, which has no repetitions and so no error."
    if (factors < 4)
        print "Centralized scheduling was not run: both are of the distributed half, without D."
    print "\n![](figure-6-20.svg)"
    printf "\n| metric | whose"
    for (e = 1; e < 2 ^ factors; e++)
        printf " | %s", effect_name(e)
    printf " | error |\n|---|---"
    for (e = 1; e <= 2 ^ factors; e++)
        printf "|---"
    print "|"
    for (m = 1; m <= metrics; m++) {
        split("", y)
        for (i = 0; i < 16; i++)
            y[i, 1] = printed[i, metric[m]]
        shares_line("dissertation", metric[m], factors, 1, y)
        split("", y)
        r = ours(factors, metric[m], y)
        if (r > 0)
            shares_line("ours", metric[m], factors, r, y)
    }
    print ""
}

# ---- Figures 6-21 to 6-24: one factor against all metrics ------------------------------------------------------------

# A curve of figure NAME: the configurations LIST, at the places PLACES; lines "place mean half ..." of each metric.
function curve(name, label, list, places,    n, i, m, k, config, place, any) {
    n = split(list, config, ";")
    split(places, place, " ")
    for (i = 1; i <= n; i++) {
        if (!(config[i] in count))
            continue
        any = 1
        printf "%s", place[i] >(output "/" name "-" label ".data")
        printf "| %s | %s", label, place[i]
        for (m = 1; m <= metrics; m++) {
            printf " %s", point(config[i], metric[m]) >(output "/" name "-" label ".data")
            printf " | %s", cell(config[i], metric[m])
        }
        print "" >(output "/" name "-" label ".data")
        print " |"
    }
    return any
}

function figure(name, what, against,    m) {
    print "## Figure " name ": " what "\n"
    print "![](figure-" name ".svg)\n"
    printf "| curve | %s", against
    for (m = 1; m <= metrics; m++)
        printf " | %s", title[metric[m]]
    printf " |\n|---|---"
    for (m = 1; m <= metrics; m++)
        printf "|---"
    print "|"
}

function over_periods(policy, by, every, forward, periods,    n, i, list, p) {
    n = split(periods, p, " ")
    for (i = 1; i <= n; i++)
        list = list (i > 1 ? ";" : "") configuration(policy, by, p[i], every, "steady", forward, 4096)
    return list
}

function figures(    all, few, b, p, by, policy, rings, n, i, r, list, sampling, bys) {
    all = "1 10 100 1000 10000 100000 1000000"
    few = "1 100 1000 100000"
    figure("6-21", "forwarding policies over the polling period, without adaptation", "period, us")
    curve("figure-6-21", "BF", over_periods("none", "-", 100, "batch", all), all)
    curve("figure-6-21", "CF", over_periods("none", "-", 100, "collect", all), all)
    curve("figure-6-21", "off", configuration("off", "-", "-", 100, "steady", "batch", 4096), "1")
    curve("figure-6-21", "uninstrumented", configuration("plain", "-", "-", 100, "steady", "batch", 4096), "1")
    print ""
    figure("6-22", "forwarding policies over the size of the ring, polled once a second", "records")
    rings = "64 128 256 1024 4096 16384"
    for (b = 0; b < 2; b++) {
        n = split(rings, r, " ")
        list = ""
        for (i = 1; i <= n; i++)
            list = list (i > 1 ? ";" : "") configuration("none", "-", 1000000, 100, "steady", b ? "collect" : "batch", r[i])
        curve("figure-6-22", b ? "CF" : "BF", list, rings)
    }
    print ""
    figure("6-23", "policies over the sampling period, from 1 ms of polling period", "sampling, ms")
    sampling = "1 10 100"
    curve("figure-6-23", "none", configuration("none", "-", 1000, 100, "steady", "batch", 4096), "100")
    split("spp dpp", policy, " ")
    split("node manager", by, " ")
    for (p = 1; p <= 2; p++)
        for (b = 1; b <= 2; b++)
            curve("figure-6-23", policy[p] "-" by[b], configuration(policy[p], by[b], 1000, 1, "steady", "batch", 4096) ";" \
                configuration(policy[p], by[b], 1000, 10, "steady", "batch", 4096) ";" \
                configuration(policy[p], by[b], 1000, 100, "steady", "batch", 4096), sampling)
    print ""
    figure("6-24", "policies over the polling period at the start, sampling period 1 ms", "period, us")
    curve("figure-6-24", "none", over_periods("none", "-", 100, "batch", few), few)
    for (p = 1; p <= 2; p++)
        for (b = 1; b <= 2; b++)
            curve("figure-6-24", policy[p] "-" by[b], over_periods(policy[p], by[b], 1, "batch", few), few)
    print ""
    print "## Figure 6-25: frame rate, sensor CPU and their squared errors in time, first repetition\n\n![](figure-6-25.svg)\n"
}

# ---- Every policy ----------------------------------------------------------------------------------------------------

function policies(    i, n, k, part, name, m, line, lines, printing) {
    n = split("held_share violated_share exceed_fps exceed_cpu mse_fps mse_cpu settling steady_changes_per_10s delivered_per_s " \
        "fps sensor_cpu latency_ms lost", name, " ")
    print "## Every configuration\n"
    print "Forwarded in batches, ring of 4096. Half of the interval of 90 % after ±. docs/ADAPTATION.md says what the columns are.\n"
    printf "| disturbance | policy, scheduling | period, us | sampling, ms | runs"
    for (m = 1; m <= n; m++)
        printf " | %s", name[m]
    printf " |\n|---|---|---|---|---"
    for (m = 1; m <= n; m++)
        printf "|---"
    print "|"
    for (i = 1; i <= known; i++) {
        k = keys[i]
        split(k, part, ",")
        if (part[6] != "batch" || part[7] != 4096)
            continue
        line = sprintf("| %s | %s, %s | %s | %s | %d", part[5], part[1], part[2], part[3], part[4], count[k])
        for (m = 1; m <= n; m++)
            line = line " | " cell(k, name[m])
        lines[++printing] = line " |"
    }
    sort(lines, printing)
    for (i = 1; i <= printing; i++)
        print lines[i]
}

END {
    print "# The experiment on adaptation\n\n" rows + 0 " runs of " seconds + 0 " s each, up to " repetitions + 0 " repetitions.\n"
    table()
    allocation()
    figures()
    part_of_policies()
    policies()
}
