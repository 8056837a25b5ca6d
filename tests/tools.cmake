# SPDX-License-Identifier: Apache-2.0
# torc-load and torc-bench.
foreach(module csv key_template load_columns numbers resp_client resp_reply)
  torc_test(test_${module} LABEL unit SOURCES unit/tools/test_${module}.c LINK torc_tools)
endforeach()
foreach(module load_file bench)
  torc_test(test_${module} LABEL unit SOURCES unit/tools/test_${module}.c unit/tools/fake_road.c
            LINK torc_tools)
endforeach()
torc_test(prop_csv LABEL prop SOURCES prop/prop_csv.c LINK torc_tools)
foreach(parser csv resp_reply)
  torc_fuzz(fuzz_${parser} SOURCES fuzz/fuzz_${parser}.c CORPUS ${parser} LINK torc_tools)
endforeach()

add_test(NAME e2e_load_redis
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/load.sh redis $<TARGET_FILE:torc-load>
                 $<TARGET_FILE:torc-bench>)
set(load_tests e2e_load_redis)
if(TARGET torcd)
  add_test(NAME e2e_load_torcd
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/load.sh torcd $<TARGET_FILE:torc-load>
                   $<TARGET_FILE:torc-bench> $<TARGET_FILE:torcd>)
  list(APPEND load_tests e2e_load_torcd)
endif()
set_tests_properties(${load_tests} PROPERTIES LABELS e2e TIMEOUT 120 SKIP_RETURN_CODE 77)
