# SPDX-License-Identifier: Apache-2.0
# The server, tools/torcd.
foreach(module resp_parser glob settings reply mailbox listener)
  torc_test(test_${module} LABEL unit SOURCES unit/tools/test_${module}.c LINK torc_server)
endforeach()
torc_fuzz(fuzz_resp SOURCES fuzz/fuzz_resp.c CORPUS resp LINK torc_server)
torc_test(test_connection LABEL unit LINK torc_server
  SOURCES unit/tools/test_connection.c unit/tools/server_fixture.c)
torc_test(test_rings LABEL unit LINK torc_server
  SOURCES unit/tools/test_rings.c unit/tools/server_fixture.c)
