# SPDX-License-Identifier: Apache-2.0
# Messages and operations, libtorc, torc-cli.
torc_test(test_ops LABEL unit SOURCES unit/ring/test_ops.c LINK torc_ring)
torc_test(test_message LABEL unit SOURCES unit/ring/test_message.c LINK torc_ring)
target_compile_definitions(test_message PRIVATE TORC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
torc_test(prop_message LABEL prop SOURCES prop/prop_message.c LINK torc_ring)
torc_fuzz(fuzz_message SOURCES fuzz/fuzz_message.c CORPUS message LINK torc_ring)

foreach(name abi torc calls call_requests loans pipeline words)
  torc_test(test_${name} LABEL unit LINK torc_client
    SOURCES unit/client/test_${name}.c support/fake_server.c)
endforeach()
foreach(name errors misuse)
  torc_test(test_${name} LABEL unit LINK torc_client
    SOURCES unit/client/test_${name}.c support/client_calls.c support/fake_server.c)
endforeach()
set(heap support/failing_heap.c)
torc_test(test_client_memory LABEL unit LINK torc_client
  SOURCES unit/client/test_client_memory.c ${heap} support/fake_server.c)
torc_test(test_error_table LABEL unit LINK torc_client
  SOURCES unit/client/test_error_table.c ${heap} support/client_calls.c support/fake_server.c)
target_compile_definitions(test_error_table PRIVATE TORC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
foreach(name client_memory error_table)
  target_link_options(test_${name} PRIVATE
    -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
endforeach()
foreach(name client loans)
  torc_test(prop_${name} LABEL prop LINK torc_client
    SOURCES prop/prop_${name}.c support/fake_server.c)
endforeach()

if(TARGET torc_cli)
  foreach(module help history line print stream)
    torc_test(test_cli_${module} LABEL unit SOURCES unit/tools/test_cli_${module}.c LINK torc_cli)
  endforeach()
  torc_test(test_cli_pipe LABEL unit LINK torc_cli
    SOURCES unit/tools/test_cli_pipe.c support/fake_server.c)
  torc_fuzz(fuzz_cli_line SOURCES fuzz/fuzz_cli_line.c CORPUS cli_line LINK torc_cli)
endif()

if(TARGET torc_cli AND TARGET torcd)
  # Run by the script, against the server that it starts.
  foreach(name hash_calls time_calls)
    add_executable(${name} e2e/${name}.c support/fake_server.c)
    target_link_libraries(${name} PRIVATE torc_client torc_test_support)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endforeach()
  add_test(NAME e2e_client
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/client.sh $<TARGET_FILE:torcd> $<TARGET_FILE:torc-cli>
            $<TARGET_FILE:test_calls> $<TARGET_FILE:test_pipeline>
            $<TARGET_FILE:torc_example_quotes> $<TARGET_FILE:torc_example_feature_fetch>
            $<TARGET_FILE:hash_calls> $<TARGET_FILE:test_loans>
            $<TARGET_FILE:torc_example_ranking> $<TARGET_FILE:torc_example_presence>
            $<TARGET_FILE:time_calls> $<TARGET_FILE:torc_example_sessions>)
  set_tests_properties(e2e_client PROPERTIES LABELS e2e TIMEOUT 120)
  if(TORC_SANITIZE)
    set_tests_properties(e2e_client PROPERTIES ENVIRONMENT "CK_FORK=no")
  endif()
endif()

# torc-cli on a terminal, and what it exports and takes in.
if(TARGET torc_cli AND TARGET torcd)
  find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
  foreach(test prompt transfer)
    add_test(NAME e2e_cli_${test}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/cli_${test}.py
                     --torcd $<TARGET_FILE:torcd> --cli $<TARGET_FILE:torc-cli>)
    set_tests_properties(e2e_cli_${test} PROPERTIES
      LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endforeach()
endif()

# The manual pages name what --help and torc.h name.
if(TARGET torc-cli AND TARGET torc-load AND TARGET torc-bench AND TARGET torcd)
  find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
  add_test(NAME lint_man
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/lint/man.py ${CMAKE_SOURCE_DIR}
            $<TARGET_FILE:torcd> $<TARGET_FILE:torc-cli> $<TARGET_FILE:torc-load>
            $<TARGET_FILE:torc-bench>)
  set_tests_properties(lint_man PROPERTIES LABELS lint TIMEOUT 60 SKIP_RETURN_CODE 77)
endif()

# The header by itself, as old C and as C++.
set(torc_h ${CMAKE_SOURCE_DIR}/client/include/torc/torc.h)
set(strict -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -include ${torc_h})
add_test(NAME lint_torc_h_c COMMAND ${CMAKE_C_COMPILER} -std=c99 ${strict} -x c /dev/null)
set_tests_properties(lint_torc_h_c PROPERTIES LABELS lint TIMEOUT 60)
find_program(TORC_CXX NAMES c++ g++ clang++)
if(TORC_CXX)
  add_test(NAME lint_torc_h_cxx COMMAND ${TORC_CXX} -std=c++11 ${strict} -x c++ /dev/null)
  set_tests_properties(lint_torc_h_cxx PROPERTIES LABELS lint TIMEOUT 60)
endif()

# A library with a sanitizer in it is not one to install.
if(NOT TORC_SANITIZE AND NOT TORC_FUZZ)
  add_test(NAME e2e_client_install
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/unit/client/install.sh ${CMAKE_COMMAND}
            ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(e2e_client_install PROPERTIES LABELS e2e TIMEOUT 120)
endif()
