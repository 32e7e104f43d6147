# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# How tests are declared. A test is named FOLDER/NAME after its file in tests/. Exit code 77 skips it. tests/run lets each
# run for a time that it scales by BEZEL_TEST_SCALE: a test of 8 s took 120 s on a machine that others used. Attributes that
# all kinds share:
#
#   TIMING       its subject is timing: it runs alone, in tests/run after all others, and is skipped where the machine is not
#                quiet (tests/lib/machine)
#   LONG         it is among the longest, and starts first, so that no CPU idles while the last one runs alone
#   NEEDS T...   targets to build first
#   IN_SOURCE    it runs in the root of the source tree

get_filename_component(BEZEL_TEST_ROOT ${CMAKE_CURRENT_LIST_DIR}/../tests ABSOLUTE)
file(WRITE ${PROJECT_BINARY_DIR}/left-out.txt "")
file(WRITE ${PROJECT_BINARY_DIR}/one-thread.txt "")
string(FIND "${CMAKE_C_FLAGS}" "-fsanitize" BEZEL_SANITIZED)
if(BEZEL_SANITIZED EQUAL -1)
    set(BEZEL_SANITIZED OFF)
else()
    set(BEZEL_SANITIZED ON)
endif()

if(BEZEL_TESTS)
    add_library(descriptors OBJECT ${BEZEL_TEST_ROOT}/lib/descriptors.c) # in each test
    add_library(test_main OBJECT ${BEZEL_TEST_ROOT}/lib/test.c) # in each test, too
    target_link_libraries(descriptors PRIVATE bezel_warnings)
    target_link_libraries(test_main PRIVATE bezel_warnings PkgConfig::CMOCKA)
endif()

add_custom_target(fuzzers) # what preset fuzz runs

# This preset leaves out test NAME since another preset runs it; tests/run prints how many. TARGET, which may be "", builds
# on request.
function(bezel_leave_out name target why)
    if(target)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    file(APPEND ${PROJECT_BINARY_DIR}/left-out.txt "${name}: ${why}\n")
endfunction()

# Sets `objects` in the caller to what SOURCES are, from the root of the source tree: files of tests/lib/ are compiled once for
# all tests that have them.
function(bezel_test_sources objects)
    set(found)
    foreach(source ${ARGN})
        if(source MATCHES "^tests/lib/([a-z0-9_]+)\\.c$")
            set(shared shared_${CMAKE_MATCH_1})
            if(NOT TARGET ${shared})
                add_library(${shared} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/${source})
                target_link_libraries(${shared} PRIVATE bezel_warnings PkgConfig::CMOCKA)
            endif()
            list(APPEND found $<TARGET_OBJECTS:${shared}>)
        else()
            list(APPEND found ${PROJECT_SOURCE_DIR}/${source})
        endif()
    endforeach()
    set(${objects} ${found} PARENT_SCOPE)
endfunction()

# Sets `when` to what stands before the command of a test with the attributes above.
macro(bezel_test_when)
    set(when)
    if(T_TIMING)
        set(when ${BEZEL_TEST_ROOT}/lib/machine when-quiet)
    endif()
endmacro()

# Sets the properties of test NAME from the attributes above, which the caller parsed with prefix T.
macro(bezel_test_attributes name)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    if(T_TIMING)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
        set_property(TEST ${name} APPEND PROPERTY LABELS timing)
    endif()
    if(T_LONG)
        set_tests_properties(${name} PROPERTIES COST 1000)
    endif()
    if(T_IN_SOURCE)
        set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    endif()
endmacro()

# bezel_test(NAME LIBS lib...) builds NAME.c of this folder with cmocka and runs it in a process of its own, in which no
# descriptor may be left open at the end.
#   FROM F       the file with its tests is F (tests/lib/test.h)
#   SOURCES F... more sources, paths from the root
#   WRAP F...    functions that the test replaces, for the linker's --wrap
#   DEFINES D... macros
#   ONE_THREAD   it cannot start a thread, which tests/house/threads checks. ThreadSanitizer, which sees nothing between
#                processes, has nothing to find in it, so preset tsan leaves it out
#   NO_THREAD    it starts none, though a library of it may: preset tsan leaves it out, too
#   DEV_TOO      sanitizers leave a part of it out
#   DEV_ONLY     no preset with sanitizers runs it. Tests with neither have label `sanitized`: tests/run --all leaves them to
#                preset asan, and has preset release not even build them (BEZEL_TESTS=REST)
function(bezel_test file)
    cmake_parse_arguments(T "TIMING;LONG;IN_SOURCE;ONE_THREAD;NO_THREAD;DEV_TOO;DEV_ONLY" "FROM" "LIBS;SOURCES;WRAP;DEFINES;NEEDS" ${ARGN})
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    set(name ${folder}/${file})
    set(target test_${folder}_${file})
    if(NOT T_FROM)
        set(T_FROM ${file}.c)
    endif()
    bezel_test_sources(sources ${T_SOURCES})
    list(TRANSFORM T_WRAP PREPEND LINKER:--wrap=)
    add_executable(${target} ${T_FROM} ${sources} $<TARGET_OBJECTS:descriptors> $<TARGET_OBJECTS:test_main>)
    target_link_libraries(${target} PRIVATE bezel_warnings ${T_LIBS} PkgConfig::CMOCKA)
    target_compile_definitions(${target} PRIVATE ${T_DEFINES})
    target_link_options(${target} PRIVATE ${T_WRAP})
    if(BEZEL_SANITIZED) # a fifth of the time that the file takes to compile; what it tests has them
        set_source_files_properties(${T_FROM} PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
    endif()
    set(sanitized ON)
    if(T_DEV_TOO OR T_DEV_ONLY OR T_TIMING)
        set(sanitized OFF)
    endif()
    if(BEZEL_TESTS STREQUAL "REST" AND sanitized)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(T_NEEDS)
        add_dependencies(${target} ${T_NEEDS})
    endif()
    if(T_ONE_THREAD)
        file(APPEND ${PROJECT_BINARY_DIR}/one-thread.txt "${name}\n")
    endif()
    if((T_ONE_THREAD OR T_NO_THREAD) AND CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
        bezel_leave_out(${name} ${target} "it has one thread")
        return()
    elseif(T_DEV_ONLY AND BEZEL_SANITIZED)
        bezel_leave_out(${name} ${target} "presets without sanitizers run it")
        return()
    endif()
    bezel_test_when()
    add_test(NAME ${name} COMMAND ${when} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${target}>)
    bezel_test_attributes(${name})
    if(sanitized)
        set_property(TEST ${name} APPEND PROPERTY LABELS sanitized)
    endif()
endfunction()

# bezel_script(NAME [ARGS arg... | ALONE] [SAME_THREADS] [DEV_ONLY]) runs script NAME of this folder, with the build folder as its
# argument, with ARGS, or with none. SAME_THREADS: other scripts have the programs start the same threads, with the same work,
# and preset tsan leaves this one out. DEV_ONLY: no preset with sanitizers runs it. The other scripts of
# e2e/ and torture/ have label `sanitized`: tests/run --all leaves them to preset asan.
function(bezel_script file)
    cmake_parse_arguments(T "TIMING;LONG;IN_SOURCE;ALONE;SAME_THREADS;DEV_ONLY" "" "ARGS;ENVIRONMENT" ${ARGN})
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    if(NOT DEFINED T_ARGS AND NOT T_ALONE)
        set(T_ARGS ${PROJECT_BINARY_DIR})
    endif()
    if((T_DEV_ONLY OR T_TIMING) AND BEZEL_SANITIZED)
        bezel_leave_out(${folder}/${file} "" "presets without sanitizers run it")
        return()
    endif()
    if(T_SAME_THREADS AND CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
        bezel_leave_out(${folder}/${file} "" "other scripts start the same threads")
        return()
    endif()
    bezel_test_when()
    add_test(NAME ${folder}/${file} COMMAND ${when} ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${T_ARGS})
    bezel_test_attributes(${folder}/${file})
    set_tests_properties(${folder}/${file} PROPERTIES ENVIRONMENT "${T_ENVIRONMENT}")
    if(folder MATCHES "^(e2e|torture)$" AND NOT T_DEV_ONLY AND NOT T_TIMING)
        set_property(TEST ${folder}/${file} APPEND PROPERTY LABELS sanitized)
    endif()
endfunction()

# bezel_helper(NAME LIBS lib...) builds tests/lib/NAME.c, a program that tests run.
function(bezel_helper name)
    cmake_parse_arguments(T "" "" "LIBS" ${ARGN})
    add_executable(${name} ${BEZEL_TEST_ROOT}/lib/${name}.c)
    target_link_libraries(${name} PRIVATE bezel_warnings ${T_LIBS})
endfunction()

# bezel_fuzzer(NAME LIBS lib... [SOURCES file...] [DEFINES macro...] [MORE folder]) builds NAME.c of this folder as test
# fuzz/NAME, with seeds in tests/fuzz/seeds/NAME. With BEZEL_FUZZ it is a libFuzzer, with sanitizers, that runs for
# BEZEL_FUZZ_SECONDS (environment; default 7), from the files in MORE too, and keeps an input that fails it; else it is
# fed the seeds and their near relatives.
function(bezel_fuzzer name)
    cmake_parse_arguments(F "" "MORE" "LIBS;SOURCES;DEFINES" ${ARGN})
    set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/seeds/${name})
    add_executable(fuzz_${name} ${name}.c ${F_SOURCES})
    add_dependencies(fuzzers fuzz_${name})
    target_link_libraries(fuzz_${name} PRIVATE bezel_warnings ${F_LIBS})
    target_compile_definitions(fuzz_${name} PRIVATE ${F_DEFINES})
    if(BEZEL_FUZZ)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_test(NAME fuzz/${name}
                 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run $<TARGET_FILE:fuzz_${name}> ${seeds} ${F_MORE})
    else()
        target_sources(fuzz_${name} PRIVATE replay.c)
        if(BEZEL_TESTS STREQUAL "REST") # preset fuzz runs it
            set_target_properties(fuzz_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
        if(BEZEL_SANITIZED)
            bezel_leave_out(fuzz/${name} fuzz_${name} "preset fuzz feeds it the seeds")
            return()
        endif()
        add_test(NAME fuzz/${name} COMMAND fuzz_${name} ${seeds})
    endif()
    set_tests_properties(fuzz/${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
