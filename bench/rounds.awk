# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# awk -f bench/statistics.awk -f bench/rounds.awk: figures of rounds. A line `round` begins one; lines `NAME VALUE UNIT` in it
# are what it measured, and `end`, or the end of the input, ends the rounds. What it prints of each NAME: the median, lines
# NAME_q1 and NAME_q3 with the quartiles, and where rounds are left out NAME_left_out, `N /ROUNDS`. Other lines in a round:
#
#   ratio NAME A B             NAME is A over B of the same round
#   sum NAME A B               NAME is A and B of the same round together, in the unit of A
#   machine CLOCK_NS STALLED   what a reading of the clock costs, and percent of the time that others took: bench-round
#   stolen PERCENT             of the round's time, by the hypervisor
#   void REASON                it is left out
#
# A round is left out, too, in which the machine stalled, or the clock's cost moved by more than a tenth from the round's own
# median. Where it is the same all through a round, but more than a tenth away from that of all rounds, both sides had the same
# machine: the round counts for ratios alone. Lines before the first `round` and after `end` pass.

BEGIN { CLOCK_MOVES = 0.1; STALLED = 10; STOLEN = 2 }

function say(text) { print "bench: " text >"/dev/stderr" }

function figure(v) { return sprintf(v >= 1000 ? "%.0f" : v >= 100 ? "%.1f" : v >= 3 ? "%.2f" : "%.3f", v) }

function leave_out(r, reason) {
    if (r in out)
        return
    out[r] = reason
    reasons[reason]++
}

# The clock's usual cost in round r, or in all rounds where r is 0.
function clock_in(r,    i, n, costs) {
    for (i = 1; i <= looks; i++)
        if (!r || look_round[i] == r)
            costs[++n] = look_cost[i]
    sort(costs, n)
    return quantile(costs, n, 0.5)
}

function is_off(cost, usual) { return cost > usual * (1 + CLOCK_MOVES) || cost < usual * (1 - CLOCK_MOVES) }

# Rounds whose clock moved, or was another one.
function judge_clock(    i, r, usual) {
    if (!looks)
        return
    usual = clock_in(0)
    for (i = 1; i <= looks; i++) {
        r = look_round[i]
        if (is_off(look_cost[i], clock_in(r)))
            leave_out(r, "the clock's cost moved")
        if (is_off(look_cost[i], usual))
            other[r] = 1
    }
    for (r in other)
        if (!(r in out))
            others++
}

function print_figure(name,    r, n, x) {
    for (r = 1; r <= rounds; r++)
        if (!(r in out) && (unit[name] == "ratio" || !(r in other)) && (name, r) in value)
            x[++n] = value[name, r]
    sort(x, n)
    if (!n)
        print name, "n/a", unit[name]
    else {
        print name, figure(quantile(x, n, 0.5)), unit[name]
        print name "_q1", figure(quantile(x, n, 0.25)), unit[name]
        print name "_q3", figure(quantile(x, n, 0.75)), unit[name]
    }
    if (n < rounds)
        print name "_left_out", rounds - n, "/" rounds
}

function finish(    i, reason) {
    if (!rounds)
        return
    judge_clock()
    for (i = 1; i <= names; i++)
        print_figure(order[i])
    for (reason in reasons)
        say(reasons[reason] " of " rounds " rounds are left out: " reason)
    if (others)
        say(others " of " rounds " rounds count for ratios alone: the clock's cost was another one than usually")
    rounds = names = looks = others = 0
    split("", other)
    split("", value); split("", unit); split("", out); split("", reasons); split("", order)
    fflush()
}

function take(name, v, u) {
    if (!(name in unit)) {
        unit[name] = u
        order[++names] = name
    }
    if (v ~ /^[-+]?[0-9.]/)
        value[name, rounds] = v + 0
}

$1 == "round" { rounds++; next }
$1 == "end" && NF == 1 { finish(); next }
!rounds { print; fflush(); next }
$1 == "machine" {
    look_round[++looks] = rounds
    look_cost[looks] = $2
    if ($3 > STALLED)
        leave_out(rounds, "the machine stalled")
    next
}
$1 == "stolen" { if ($2 > STOLEN) leave_out(rounds, "the hypervisor took time away"); next }
$1 == "void" { sub(/^void /, ""); leave_out(rounds, $0); next }
$1 == "ratio" {
    if ((($3, rounds) in value) && (($4, rounds) in value) && value[$4, rounds] > 0)
        take($2, value[$3, rounds] / value[$4, rounds], "ratio")
    next
}
$1 == "sum" {
    if ((($3, rounds) in value) && (($4, rounds) in value))
        take($2, value[$3, rounds] + value[$4, rounds], unit[$3])
    next
}
NF == 3 { take($1, $2, $3) }
END { finish() }
