# SPDX-License-Identifier: Apache-2.0
# The server, tools/torcd.
foreach(module resp_parser glob settings reply mailbox listener decimal commands_number
               commands_random commands_scan expire_words)
  torc_test(test_${module} LABEL unit SOURCES unit/tools/test_${module}.c LINK torc_server)
endforeach()
torc_fuzz(fuzz_resp SOURCES fuzz/fuzz_resp.c CORPUS resp LINK torc_server)
torc_test(test_connection LABEL unit LINK torc_server
  SOURCES unit/tools/test_connection.c unit/tools/server_fixture.c)
torc_test(test_rings LABEL unit LINK torc_server
  SOURCES unit/tools/test_rings.c unit/tools/server_fixture.c)

# The reference page is what the table of operations says. To renew it:
#   torcd --commands-markdown >docs/commands.md
add_test(NAME lint_commands_page
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/commands_page.sh $<TARGET_FILE:torcd>
                 ${CMAKE_SOURCE_DIR}/docs/commands.md)
set_tests_properties(lint_commands_page PROPERTIES LABELS lint TIMEOUT 60)

# Whole processes. ring_over_stdio gives the tests, which are in Python, a ring session.
add_executable(ring_over_stdio e2e/ring_over_stdio.c)
target_link_libraries(ring_over_stdio PRIVATE torc_client torc_server)
set_target_properties(ring_over_stdio PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_executable(stop_client e2e/stop_client.c)
target_link_libraries(stop_client PRIVATE torc_client torc_flags)
set_target_properties(stop_client PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
# server_ops writes the table that tools/check shows at its end.
set(server_ops_options --table ${CMAKE_BINARY_DIR}/tests/ops.txt)
foreach(test ops start clients stalls memory compression expiry)
  add_test(NAME e2e_server_${test}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/server_${test}.py
                   --torcd $<TARGET_FILE:torcd> --ring $<TARGET_FILE:ring_over_stdio>
                   ${server_${test}_options})
  set_tests_properties(e2e_server_${test} PROPERTIES
    LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()

# Faults that others had, and the test of each.
add_test(NAME e2e_public_faults
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/public_faults.py
                 --torcd $<TARGET_FILE:torcd> --ring $<TARGET_FILE:ring_over_stdio>)
set_tests_properties(e2e_public_faults PROPERTIES
  LABELS e2e TIMEOUT 600 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

add_test(NAME lint_configuration
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/configuration.sh $<TARGET_FILE:torcd>
                 ${CMAKE_SOURCE_DIR})
set_tests_properties(lint_configuration PROPERTIES LABELS lint TIMEOUT 60)
