# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# What was seen of the limits while a run went on, from the records of its daemons (`bezel export --format csv`): every 10 ms
# from the first of them on
#   SECONDS FPS_STATE CPU_STATE FPS CPU PERIOD_US
# states are 1 held, 2 violated, 0 unknown, the worst node's; FPS is the slowest client's and CPU the busiest node's, percent,
# as last told, `-` before; PERIOD is the longest, 0 where a node is off. Limit 0 of the file is on frames, 1 on CPU.
BEGIN { FS = ","; STEP = 1e7 }

NR == 1 {
    for (i = 1; i <= NF; i++)
        column[$i] = i
    next
}

$column["process"] != "bezeld" { next }

{
    node = $column["node"]
    at = $column["time_ns"] + 0
    if (!(node in nodes))
        nodes[node] = 1
    n++
    when[n] = at
    what[n] = ""
    if (begin == 0 || at < begin)
        begin = at
    if (at > end)
        end = at
}

$column["aspect"] == "bezel_limit" {
    state = $column["state"]
    what[n] = "limit " node " " $column["limit"] " " (state == "held" ? 1 : state == "violated" ? 2 : 0)
}

$column["aspect"] == "bezel_metric" {
    value = $column["value"]
    what[n] = "metric " node "/" $column["field.process"] " " (value == "nan" ? "-" : value)
}

$column["aspect"] == "bezel_usage" {
    cpu = $column["cpu"] + 0
    if (node in last_at && at > last_at[node])
        what[n] = "self " node " " 100 * (cpu - last_cpu[node]) / (at - last_at[node]) " " $column["period"]
    last_at[node] = at
    last_cpu[node] = cpu
}

$column["aspect"] == "bezel_decision" {
    what[n] = "period " node " " $column["after"]
}

# Stable, for the records of one node are in their order already.
function sort_by_time(    i, j, k, t, order_i) {
    for (i = 1; i <= n; i++)
        order[i] = i
    for (k = 1; k < n; k *= 2) # merges runs of k
        for (i = 1; i <= n; i += 2 * k)
            merge(i, i + k, i + 2 * k > n + 1 ? n + 1 : i + 2 * k)
}

function merge(a, b, c,    i, j, k) {
    if (b >= c)
        return
    i = a
    j = b
    for (k = a; k < c; k++)
        merged[k] = j >= c || (i < b && when[order[i]] <= when[order[j]]) ? order[i++] : order[j++]
    for (k = a; k < c; k++)
        order[k] = merged[k]
}

function apply(text,    part) {
    split(text, part, " ")
    if (part[1] == "limit")
        state_of[part[2], part[3]] = part[4]
    else if (part[1] == "metric")
        fps_of[part[2]] = part[3]
    else if (part[1] == "period")
        period_of[part[2]] = part[3] / 1e3
    else if (part[1] == "self") {
        cpu_of[part[2]] = part[3]
        if (!(part[2] in period_of))
            period_of[part[2]] = part[4] / 1e3
    }
}

# Of the nodes' states the worst: violated before unknown before held.
function worst_state(number,    node, worst) {
    worst = 1
    for (node in nodes) {
        if (state_of[node, number] == 2)
            return 2
        if (state_of[node, number] != 1)
            worst = 0
    }
    return worst
}

function least_fps(    who, least) {
    least = "-"
    for (who in fps_of)
        if (fps_of[who] != "-" && (least == "-" || fps_of[who] < least + 0))
            least = fps_of[who] + 0
    return least
}

function most_cpu(    node, most) {
    most = "-"
    for (node in cpu_of)
        if (most == "-" || cpu_of[node] + 0 > most + 0)
            most = cpu_of[node] + 0
    return most
}

function longest(    node, most) {
    for (node in period_of) {
        if (period_of[node] == 0)
            return 0
        if (period_of[node] > most)
            most = period_of[node]
    }
    return most + 0
}

END {
    sort_by_time()
    i = 1
    for (t = begin; t <= end; t += STEP) {
        for (; i <= n && when[order[i]] <= t; i++)
            if (what[order[i]] != "")
                apply(what[order[i]])
        print (t - begin) / 1e9, worst_state(0), worst_state(1), least_fps(), most_cpu(), longest()
    }
}
