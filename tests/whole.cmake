# SPDX-License-Identifier: Apache-2.0
# Tests of the whole: real servers, real clients, a real rival.
torc_test(e2e_kill_server LABEL e2e SOURCES e2e/kill_server.c LINK torc_client torc_hash
          ARGS $<TARGET_FILE:torcd> TIMEOUT 180)

# The sanitizers slow the server, not the rival: fewer commands there.
add_test(NAME diff_resp COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/diff/resp_diff.py $<TARGET_FILE:torcd>
                                --commands 100000)
set_tests_properties(diff_resp PROPERTIES LABELS diff TIMEOUT 300 SKIP_RETURN_CODE 77)
