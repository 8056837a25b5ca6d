# SPDX-License-Identifier: Apache-2.0
# Tests of the whole: real servers, real clients.
torc_test(e2e_kill_server LABEL e2e SOURCES e2e/kill_server.c LINK torc_client torc_hash
          ARGS $<TARGET_FILE:torcd> TIMEOUT 180)
