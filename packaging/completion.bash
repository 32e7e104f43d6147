# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Completion of Bezel's programs, for bash, and for zsh and fish, which call _bezel_words. Commands, options and what they
# take are those that --help lists; names are those of the newest run, which may go on; other words are names of files.

# Names of kind $1 (NODE, INVENTORY, PROCESS, ASPECT, KNOB or RUN); $2: the program.
_bezel_names() {
    local runs=${BEZEL_RUNS:-runs} path
    case $1 in
    RUN) for path in "$runs"/*/; do echo "$(basename "$path")"; done ;;
    NODE) for path in "$runs"/latest/trace/*/; do echo "$(basename "$path")"; done ;;
    INVENTORY) sed -n 's/^  \([^ "]*\): {.*/\1/p' "${XDG_CONFIG_HOME:-$HOME/.config}/bezel/nodes" 2>/dev/null ;;
    PROCESS) for path in "$runs"/latest/trace/*/*-*-*; do sed 's|.*/||; s/-[0-9]*-[0-9]*$//' <<<"$path"; done ;;
    ASPECT) sed -n '/^event {/{n; s/^ *name = "\(.*\)";$/\1/p}' "$runs"/latest/trace/*/metadata 2>/dev/null ;;
    KNOB) timeout 2 "$2" knob --json 2>/dev/null | sed -n 's/^ *"knob": "\(.*\)",$/\1=/p' ;;
    esac | LC_ALL=C sort -u | grep -v -F -x '*'
}

# Prints what the last of the words "$@" of a command line may become, one a line. Fails where names of files may follow, too.
_bezel_words() {
    local word=${*: -1} before=${*: -2:1} help usage takes
    local -a call=("$1")
    local -i first=2 # the first word behind the command
    [[ ${1##*/} != bezel ]] || { first=3 && (($# == 2)) || call+=("$2"); }
    help=$("${call[@]}" --help 2>/dev/null) || return 1
    usage=$(sed -n '1,/^$/p' <<<"$help")
    if [[ $word == -* ]]; then
        compgen -W "$(grep -o -E '^  (-[a-z], )?--[a-z-]+' <<<"$help" | grep -o -e '--.*')" -- "$word"
        return 0
    elif (($# < first)); then
        compgen -W "$(sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' <<<"$help")" -- "$word"
        return 0
    elif [[ $before == -* ]] && takes=$(grep -o -E -e "^  (-., )?$before(, --[a-z-]+)? [A-Z|]+( |\$)" <<<"$help"); then
        read -r -a takes <<<"$takes"
        takes=${takes[-1]}
        [[ $takes != GLOB ]] || takes=$(tr a-z A-Z <<<"${before#--}")
        compgen -W "$(_bezel_names "$takes" "$1")" -- "$word"
        [[ $takes != DIR && $takes != FILE && $takes != PROGRAM ]]
        return
    fi
    [[ $usage != *'|'* ]] || compgen -W "$(grep -o -E '[a-z]+(\|[a-z]+)+' <<<"$usage" | tr '|' ' ')" -- "$word"
    [[ $usage != *PATTERN* ]] || compgen -W "$(_bezel_names ASPECT "$1")" -- "$word"
    [[ $usage != *NAME* ]] || compgen -W "$(_bezel_names KNOB "$1")" -- "$word"
    [[ $usage != *NODE* ]] || compgen -W "$(_bezel_names INVENTORY "$1")" -- "$word"
    [[ $usage != *RUN* ]] || compgen -W "$(_bezel_names RUN "$1")" -- "$word"
    return 1
}

_bezel() {
    local word=${COMP_WORDS[COMP_CWORD]} found
    found=$(_bezel_words "${COMP_WORDS[@]:0:COMP_CWORD+1}") || found+=$'\n'$(compgen -f -- "$word")
    mapfile -t COMPREPLY < <(sed '/^$/d' <<<"$found" | awk '!seen[$0]++')
    [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}
[[ -n ${BEZEL_COMPLETION_FOR_OTHERS:-} ]] ||
    complete -o filenames -F _bezel bezel bezeld bezel-collector bezel-resmgr bezel-engine bezel-foxglove bezel-import bezel-metrics bezel-serve bezel-view bezel-launcher
