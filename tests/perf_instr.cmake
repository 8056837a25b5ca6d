# SPDX-License-Identifier: Apache-2.0
# Instruction counts of the budget against perf/instr.baseline, the logic of that comparison, and that the in-process
# benches still run and find what they should.
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)

# What is shipped is what is counted, so it is built in a folder of its own. The baseline is gcc's.
if(TORC_TEST_ONCE)
  add_test(NAME test_instructions
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/perf/test_instructions.py)
  set_tests_properties(test_instructions PROPERTIES
    LABELS unit TIMEOUT 60 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME perf_instr
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/perf/instr --build ${CMAKE_BINARY_DIR}/instr)
  set_tests_properties(perf_instr PROPERTIES
    LABELS perf TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()

if(TORC_PERF AND NOT TORC_FUZZ)
  foreach(module arena codec compact press table)
    add_test(NAME perf_bench_${module} COMMAND bench_${module} --quick)
    set_tests_properties(perf_bench_${module} PROPERTIES LABELS perf TIMEOUT 120)
  endforeach()
endif()
