# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
# Run by CPack before it packs: gives each package its copyright, changelog and overrides, and compresses manual pages.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH
foreach(name ${CPACK_COMPONENTS_ALL})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${name})
    set(doc ${root}/usr/share/doc/${name})
    file(MAKE_DIRECTORY ${doc})
    file(READ ${CMAKE_CURRENT_LIST_DIR}/../../LICENSE licence)
    string(REGEX REPLACE "^[^\n]*\n\n[^\n]*\n\n" "" licence "${licence}")
    string(STRIP "${licence}" licence)
    string(REPLACE "\n\n" "\n.\n" licence "${licence}")
    string(REPLACE "\n" "\n " licence " ${licence}")
    file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bezel\n
Files: *
Copyright: 2026 The Bezel authors
License: Expat\n
License: Expat\n${licence}\n")
    file(WRITE ${doc}/changelog.Debian "bezel (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n
  * ${CPACK_PACKAGE_VERSION}: see /usr/share/doc/bezel/CHANGELOG.md of package bezel.\n
 -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    file(GLOB pages ${root}/usr/share/man/man*/*.[1-9])
    execute_process(COMMAND gzip -9n ${doc}/changelog.Debian ${pages} COMMAND_ERROR_IS_FATAL ANY)
    set(overrides)
    foreach(file every ${name})
        if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${file}.lintian-overrides)
            file(READ ${CMAKE_CURRENT_LIST_DIR}/${file}.lintian-overrides more)
            string(APPEND overrides "${more}")
        endif()
    endforeach()
    file(WRITE ${root}/usr/share/lintian/overrides/${name} "${overrides}")
    # For another machine: which of its packages has which library. Removed by CPack, where there are programs.
    if(DEFINED ENV{BEZEL_SHLIBS} AND NOT name STREQUAL "libbezel-dev")
        file(MAKE_DIRECTORY ${root}/debian)
        file(COPY_FILE $ENV{BEZEL_SHLIBS} ${root}/debian/shlibs.local)
    endif()
endforeach()
