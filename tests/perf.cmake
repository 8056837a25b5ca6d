# SPDX-License-Identifier: Apache-2.0
# The measuring programs: what they ask, and whether they notice a wrong answer.
if(TARGET torc_perf_load_parts)
  foreach(module shapes json_line)
    torc_test(test_perf_${module} LABEL unit SOURCES unit/perf/test_${module}.c LINK torc_perf_harness)
  endforeach()
  foreach(module resp_inplace load_ops)
    torc_test(test_perf_${module} LABEL unit SOURCES unit/perf/test_${module}.c LINK torc_perf_load_parts)
  endforeach()
  torc_fuzz(fuzz_resp_inplace SOURCES fuzz/fuzz_resp_inplace.c CORPUS resp_inplace
            LINK torc_perf_load_parts)
  find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
  foreach(engine torcd redis none)
    add_test(NAME e2e_perf_load_${engine}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/perf_load.py ${engine}
                     --load $<TARGET_FILE:torc-perf-load> --torcd $<TARGET_FILE:torcd>)
    set_tests_properties(e2e_perf_load_${engine} PROPERTIES
      LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endforeach()
endif()
