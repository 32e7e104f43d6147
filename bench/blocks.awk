# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# awk -v groups="NAME..." -v block=FILE -f bench/blocks.awk docs/FIGURES.md: the document, with the block in FILE in the place of
# the one with the same heading, `### CPU: group NAME`, or behind all. Everything after the line `<!-- figures -->` is blocks. A
# table comes first: for each CPU and group the date that its block begins with. FILE may be empty or "".

# Takes a line of a block; those before the first heading are the old table.
function take(line) {
    if (line ~ /^### .*: group /) {
        heading = substr(line, 5)
        if (!(heading in text))
            order[++blocks] = heading
        text[heading] = line
    } else if (heading != "")
        text[heading] = text[heading] "\n" line
}

!behind { print; behind = $0 == "<!-- figures -->"; next }
{ take($0) }

function print_table(    i, k, n, name, cpu, cpus, seen, row, cell) {
    n = split(groups, name, " ")
    printf "\n| CPU |"
    for (k = 1; k <= n; k++)
        printf " %s |", name[k]
    printf "\n|---|"
    for (k = 1; k <= n; k++)
        printf "---|"
    for (i = 1; i <= blocks; i++) {
        cpu = order[i]
        sub(/: group [^:]*$/, "", cpu)
        if (cpu in seen)
            continue
        seen[cpu] = 1
        printf "\n| %s |", cpu
        for (k = 1; k <= n; k++) {
            cell = cpu ": group " name[k]
            printf " %s |", cell in text && match(text[cell], /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/) ? \
                substr(text[cell], RSTART, RLENGTH) : "not measured"
        }
    }
    printf "\n"
}

END {
    heading = ""
    while (block != "" && (getline line < block) > 0)
        take(line)
    print_table()
    for (i = 1; i <= blocks; i++) {
        sub(/\n+$/, "", text[order[i]])
        print "\n" text[order[i]]
    }
}
