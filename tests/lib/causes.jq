# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Whether an answer of `bezel why` to `request` is true, of which two causes are known by construction, and what others
# measured: the kernel's sums of the time for which threads were ready (thread_scheduling), and the spans themselves.

def positive: if . > 0 then . else 0 end;
def more(is): [.terms[] | select(is) | .more_ns] | add // 0;
def is_ready: .class == "ready" or .class == "monitor";

# A wait for a lock is told as what its holder did, where the kernel's records say who that was.
def is_unknown: .class == "unknown" or .class == "lock";

# What threads of the programs were ready for in the whole run, by the kernel's sums, ns; of all records.
def kernel_ready: [.[] | select(.aspect == "thread_scheduling") | .fields |
    select(.process == "asker" or .process == "answerer") | .waiting] | add // 0;

# Whether the slow instances were ready for no longer than the kernel knows of the whole run. What a thread did last may
# not be in its sums: the longest is left out.
def is_ready_known($kernel; $give): .slow as $n |
    ([.terms[] | select(is_ready) | $n * .slow_ns - .slow_most_ns] | add // 0) <= $kernel + $n * $give;

# A cause of $us has a share within a twentieth and 1 ms.
def give($us): 50 * $us + 1e6;

# Of the first of the answers: causes `one` and `two`, conditions on its terms, which lasted for $a and $b us; `beside`
# for $c us, which comes with them; $kernel as above. The first that holds of
#   wrong: a cause, or what is beside, has more than its share; all else together has more than what is given of both
#     causes; a share lacks that is neither said to be unknown, nor time in which others had the CPU meanwhile; more
#     time is ready than the kernel knows;
#   disturbed: others, or the monitor, had a CPU for so long: it was another experiment;
#   unknown: it is within the error of clocks that is stated, which moves time from what a thread did to the message
#     that led to it, and nowhere else; or more than a quarter of a share is unknown;
#   right.
def judge(one; two; beside; $a; $b; $c; $kernel): .answers[0] |
    (give($a) + give($b) - 1e6) as $give | (.error_ns // 0) as $clocks | more(one) as $one | more(two) as $two |
    ($one - 1e3 * $a - give($a) | positive) as $over_one | ($two - 1e3 * $b - give($b) | positive) as $over_two |
    (more(beside) - 1e3 * $c - give($c) | positive) as $over_beside |
    [.terms[] | select((one) or (two) or (beside) or is_ready or is_unknown | not)] as $rest |
    ([$rest[] | select(.class != "message") | .more_ns | positive] | add // 0) as $other |
    ([$rest[] | select(.class == "message") | .more_ns | positive] | add // 0) as $messages |
    (if any(.terms[]; (one) and .class == "message") then $clocks else 0 end) as $late |
    (more(is_ready and ((one) or (two) | not)) | positive) as $others |
    ((1e3 * $a - $one | positive) + (1e3 * $b - $two | positive) - (more(is_unknown) | positive)) as $lack |
    if $over_one > $late then "wrong: more than there was of the first cause"
    elif $over_two > 0 then "wrong: more than there was of the second cause"
    elif $over_beside > 0 then "wrong: more than there was beside the causes"
    elif $other > $give or $messages > $give + $clocks then "wrong: something else"
    elif $lack > $give + $clocks + $others then "wrong: a share lacks that is not unknown"
    elif is_ready_known($kernel; $give) | not then "wrong: ready for longer than the kernel knows"
    elif $others > $give then "disturbed"
    elif $over_one > 0 or $messages > $give or $lack > $give then "unknown"
    elif 1e3 * $a - $one > ([give($a), 250 * $a] | max) or 1e3 * $b - $two > ([give($b), 250 * $b] | max) then "unknown"
    else "right" end;

# Whether the slow spans of a new run, of which these are all records, take as long as answer $before predicted, within
# the error that it states, twice the standard error of the new mean, 0.1 ms and a hundredth: interrupts, and what a
# hypervisor takes, belong to the time for which threads run, and are another part of it in each run. Where not: whether
# others had a CPU for more than 1 ms of each in $now, what is said of the new run, and the kernel knows so.
def judge_prediction($before; $now): kernel_ready as $kernel | $now.answers[0] as $is |
    ([.[] | select(.aspect == "request") | .fields.duration] | sort | reverse | .[:$is.slow]) as $slow |
    ($slow | add / length) as $mean | ($slow | length) as $n |
    (([$slow[] | . - $mean | . * .] | add) / ($n - 1) / $n | sqrt) as $error |
    ([$is.terms[] | select(is_ready and .by != "culprit") | .slow_ns] | add // 0) as $others |
    $before.answers[0].what_if |
    if .predicted_ns == null then "unpredicted: " + .why
    elif (.predicted_ns - $mean | fabs) <= .predicted_error_ns + 2 * $error + 1e5 + $mean / 100 then "predicted"
    elif $others > 1e6 and ($is | is_ready_known($kernel; 1e6)) then "disturbed"
    else "mispredicted: \(.predicted_ns) and \($mean) ns, give or take \(.predicted_error_ns) and \(2 * $error)" end;
