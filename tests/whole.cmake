# SPDX-License-Identifier: Apache-2.0
# Tests of the whole: real servers, real clients, a real rival.
torc_test(e2e_kill_server LABEL e2e SOURCES e2e/kill_server.c LINK torc_client torc_hash
          ARGS $<TARGET_FILE:torcd> TIMEOUT 180)

# Under the sanitizers processes start slowly: TORC_LONG has all rounds there too.
if(TORC_SANITIZE AND NOT DEFINED ENV{TORC_LONG})
  set(kill_client_rounds 150)
else()
  set(kill_client_rounds 1000)
endif()
torc_test(e2e_kill_client LABEL e2e SOURCES e2e/kill_client.c LINK torc_client
          ARGS $<TARGET_FILE:torcd> ${kill_client_rounds} TIMEOUT 300)

# The sanitizers slow the server, not the rival: fewer commands there.
add_test(NAME diff_resp COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/diff/resp_diff.py $<TARGET_FILE:torcd>
                                --commands 100000)
set_tests_properties(diff_resp PROPERTIES LABELS diff TIMEOUT 300 SKIP_RETURN_CODE 77)
