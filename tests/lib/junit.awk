# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Reads a JUnit file of ctest's: prints what failed or was skipped and why, on standard error "passed failed skipped".
# cmocka programs may pass with cases of theirs skipped: those are shown too. What ctest could not start, or was told not
# to, has failed. Variable `preset` names the build.
function text(s) {
    gsub(/&lt;/, "<", s); gsub(/&gt;/, ">", s); gsub(/&quot;/, "\"", s); gsub(/&apos;/, "\047", s)
    gsub(/&amp;/, "\\&", s)
    return s
}
function why(i) { # the last line with something in it, before line i
    while (--i > 0)
        if (line[i] ~ /[^ \t]/ && line[i] !~ /\[ RUN/)
            return line[i]
    return "it gave no reason"
}
function close_case(   i) {
    if (skip) {
        skipped++
        print "skipped " preset ":" name ": " why(n + 1)
    } else if (status == "run") {
        passed++
        for (i = 1; i <= n; i++)
            if (line[i] ~ /^\[  SKIPPED \] [^0-9]/ && line[i - 1] !~ /^\[  SKIPPED/)
                print "skipped in " preset ":" name ": " substr(line[i], 14) ": " why(i)
    } else {
        failed++
        print "FAILED " preset ":" name
        for (i = 1; i <= n; i++) # what it said first, and last
            if (i <= 40 || i > n - 80)
                print "    " line[i]
            else if (i == 41)
                print "    ... " n - 120 " lines ..."
        gist()
    }
}
function gist(   i, k, seed) { # once more where it is looked for, at the end: what failed first, and with which seed
    for (i = 1; i <= n; i++)
        if (line[i] ~ /^BEZEL_SEED=/ && !k)
            seed = line[i]
        else if (line[i] ~ /^\[ +(ERROR|LINE) +\]/ && k++ < 4)
            print "    " line[i]
    if (seed)
        print "    to repeat: " seed
}
/<testcase / {
    match($0, / name="[^"]*"/); name = text(substr($0, RSTART + 7, RLENGTH - 8))
    match($0, / status="[^"]*"/); status = substr($0, RSTART + 9, RLENGTH - 10)
    skip = 0; n = 0; out = 0
}
/<skipped message="SKIP_RETURN_CODE/ { if (!out) skip = 1 }
/<system-out>/ { out = 1; sub(/.*<system-out>/, "") }
out {
    last = sub(/<\/system-out>.*/, "")
    line[++n] = text($0)
    if (last) out = 0
}
/<\/testcase>/ { close_case() }
END { print passed + 0, failed + 0, skipped + 0 > "/dev/stderr" }
