# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# awk -f bench/adaptation_judge.awk -v every_ms=N -v window=S -v phases="S S" [-v seconds=S] CONTROL SEEN: what adaptation_seen.awk
# saw of a run, beside what it saw of the run of the same disturbance and seed with monitoring off, as one line
#   HELD_SHARE VIOLATED_SHARE EXCEED_FPS EXCEED_CPU MSE_FPS MSE_CPU SETTLING
# docs/ADAPTATION.md defines them. Instants count from the metric's window and ten sampling periods on after the first at which
# both limits are known; phases are the seconds at which a disturbance begins or ends.
BEGIN { FPS = 29; WANTED = 30; CPU = 10; QUIET = 2 }

FNR == 1 { file++ }

file == 1 { control[FNR] = $2; next }

seconds > 0 && $1 > seconds { exit }

{
    t = $1
    if (!known && $2 > 0 && $3 > 0)
        known = t + (t == 0 ? 1e-9 : 0)
    fine = control[FNR] == 1
    violated = $2 == 2 || $3 == 2
    n++
    time[n] = t
    bad[n] = violated && fine
    if (!known || t < known + window + every_ms / 100)
        next
    if ($4 != "-") {
        frames++
        mse_fps += ($4 - WANTED) ^ 2
    }
    if ($5 != "-") {
        shares++
        mse_cpu += ($5 - CPU) ^ 2
    }
    judged++
    broken += violated
    if (!fine || $2 == 0 || $3 == 0)
        next
    instants++
    held += !violated
    if ($4 != "-" && $4 < FPS)
        exceed_fps += (FPS - $4) / FPS
    if ($5 != "-" && $5 > CPU)
        exceed_cpu += ($5 - CPU) / CPU
}

# From the begin of a phase until a violation is followed by none for QUIET seconds, or by the end of the phase.
function settle(from, until,    i, last, first) {
    last = from
    for (i = 1; i <= n; i++) {
        if (time[i] < from || time[i] >= until)
            continue
        if (bad[i] && time[i] - last > QUIET)
            break
        if (bad[i])
            last = time[i] + 0.01
    }
    return last - from
}

END {
    count = split(phases, phase, " ")
    most = 0
    for (p = 1; p <= count; p++) {
        took = settle(phase[p], p < count ? phase[p + 1] : 1e9) - window
        if (took > most)
            most = took
    }
    print instants ? held / instants : "-", judged ? broken / judged : "-", instants ? exceed_fps / instants : "-",
        instants ? exceed_cpu / instants : "-", frames ? mse_fps / frames : "-", shares ? mse_cpu / shares : "-",
        int(most * 1000 / every_ms * 10 + 0.5) / 10
}
