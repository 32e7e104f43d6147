# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Completion for bash of Bezel's programs: commands and options are those that --help lists; after an option that takes a
# DIR, FILE or TARGET, and for other words, names of files.
_bezel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help
    local -a call=("${COMP_WORDS[0]}")
    [[ ${call[0]##*/} != bezel ]] || ((COMP_CWORD == 1)) || call+=("${COMP_WORDS[1]}")
    help=$("${call[@]}" --help 2>/dev/null) || return
    COMPREPLY=()
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -o -E '^  (-[a-z], )?--[a-z-]+' <<<"$help" | grep -o -e '--.*')" -- "$word")
    elif [[ ${call[*]} == "${COMP_WORDS[0]}" && ${call[0]##*/} == bezel ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' <<<"$help")" -- "$word")
    elif [[ $before != -* ]] || grep -q -E -e "^  (-., )?$before(, --[a-z]+)?( (DIR|FILE)|  |\$)" <<<"$help"; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _bezel bezel bezeld bezel-collector bezel-resmgr bezel-serve bezel-view bezel-launcher
