#compdef bezel bezeld bezel-collector bezel-resmgr bezel-engine bezel-foxglove bezel-import bezel-metrics bezel-serve bezel-view bezel-launcher
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Completion for zsh: asks that of bash, which is installed beside it.
local engine=${${(%):-%x}:A:h}/../../bash-completion/completions/bezel output code
output=$(BEZEL_COMPLETION_FOR_OTHERS=1 bash -c '. "$0" && _bezel_words "$@"' $engine "${(@)words[1,CURRENT]}")
code=$?
[[ -z $output ]] || compadd -- "${(@f)output}"
((code == 0)) || _files
