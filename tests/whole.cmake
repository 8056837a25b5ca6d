# SPDX-License-Identifier: Apache-2.0
# Tests of the whole: real servers, real clients.
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
