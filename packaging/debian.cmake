# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
# The Debian packages, which packaging/packages builds: one for each component of the installation.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL libbezel0 libbezel-consumer0 libbezel-dev bezeld bezel-collector bezel)
if(BEZEL_EXAMPLES)
    list(APPEND CPACK_COMPONENTS_ALL bezel-examples)
endif()
set(CPACK_COMPONENTS_IGNORE_GROUPS ON)
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>") # as dpkg's tools take them
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/finish.cmake)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
if(CMAKE_SYSROOT)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)

# A package: its components that it depends on, in its own version, and its description.
macro(bezel_package name depends)
    string(TOUPPER ${name} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_COMPONENT_${upper}_DEPENDS ${depends})
    string(JOIN "\n" CPACK_COMPONENT_${upper}_DESCRIPTION ${ARGN})
endmacro()
bezel_package(libbezel0 ""
    "sensors for programs that Bezel observes"
    "A program that links this library writes records of what it does into"
    "shared memory, at some nanoseconds each. On the machine where it runs it"
    "needs no other part of Bezel, and no other library than libc.")
bezel_package(libbezel-consumer0 ""
    "reader of the records of Bezel's runs"
    "A program that links this library reads the records of a run, while the"
    "run goes on or later, on this machine or another.")
bezel_package(libbezel-dev "libbezel0;libbezel-consumer0"
    "headers of libbezel and libbezel-consumer"
    "Headers, manual pages and files for pkg-config and CMake, to build programs"
    "that record for Bezel, or that read its runs.")
bezel_package(bezeld ""
    "daemon of a node of Bezel, and its launcher"
    "Bezel observes real-time programs on one machine or several. A machine that"
    "takes part has bezeld, which reads the records of its programs from shared"
    "memory, and bezel-launcher, which starts the programs of an experiment.")
bezel_package(bezel-collector ""
    "collector, server and resource manager of Bezel"
    "Bezel observes real-time programs on one machine or several. The collector"
    "stores their records in the Common Trace Format, bezel-serve lets other"
    "machines read them, and bezel-resmgr adapts all nodes together.")
bezel_package(bezel "bezeld;bezel-collector"
    "real-time adaptive monitoring of distributed systems"
    "Bezel observes real-time programs while they run, and accounts for every"
    "record: it is stored, or lost with a known cause. It measures its own cost"
    "and the programs' quality of service, and adapts to the limits that are set."
    "This package has the command bezel, which runs experiments and reports their"
    "results, a view for browsers, and the documents.")
bezel_package(bezel-examples "bezel"
    "experiments to try Bezel with"
    "A greeting, a ping-pong, and a video conference with a real codec: their"
    "programs, sources and experiment files.")
set(CPACK_DEBIAN_LIBBEZEL0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBBEZEL-CONSUMER0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBBEZEL-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_BEZEL_PACKAGE_RECOMMENDS babeltrace2)
set(CPACK_DEBIAN_BEZEL_PACKAGE_SUGGESTS python3)
set(CPACK_DEBIAN_BEZELD_PACKAGE_SUGGESTS bezel-collector)
set(CPACK_DEBIAN_LIBBEZEL0_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
set(CPACK_DEBIAN_LIBBEZEL-CONSUMER0_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
foreach(name bezeld bezel-collector) # those with services
    string(TOUPPER ${name} upper)
    foreach(script postinst prerm postrm)
        list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/${name}/${script})
    endforeach()
endforeach()
include(CPack)
