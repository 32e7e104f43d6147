# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT

# Installs manual page docs/man/PAGE, with what the program of TARGET says of its options.
function(bezel_man page target)
    set(made ${PROJECT_BINARY_DIR}/man/${page})
    string(REGEX MATCH "[0-9]$" section ${page})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
    add_custom_command(OUTPUT ${made} VERBATIM
        COMMAND ${PROJECT_SOURCE_DIR}/docs/man/make ${PROJECT_SOURCE_DIR}/docs/man/${page} $<TARGET_FILE:${target}>
            ${CMAKE_CROSSCOMPILING_EMULATOR} > ${made}
        DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/make ${PROJECT_SOURCE_DIR}/docs/man/${page} ${target})
    add_custom_target(man_${page} ALL DEPENDS ${made})
    install(FILES ${made} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()
