# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Completion for fish: asks that of bash, which is installed beside it.
set -g __bezel_engine (path resolve (status dirname)/../../bash-completion/completions/bezel 2>/dev/null; or realpath (status dirname)/../../bash-completion/completions/bezel)
function __bezel_words
    set -l words (commandline -opc) (commandline -ct)
    BEZEL_COMPLETION_FOR_OTHERS=1 bash -c '. "$0" && _bezel_words "$@"' $__bezel_engine $words
    or __fish_complete_path (commandline -ct)
end
for program in bezel bezeld bezel-collector bezel-resmgr bezel-engine bezel-foxglove bezel-import bezel-metrics bezel-serve bezel-view bezel-launcher
    complete -c $program -f -a '(__bezel_words)'
end
