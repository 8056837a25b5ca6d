# SPDX-License-Identifier: Apache-2.0
# perf/run and perf/compare, with stand-ins for what they start.
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
if(NOT TORC_TEST_ONCE)
  return()
endif()
add_test(NAME perf_driver
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/perf_driver.py)
set_tests_properties(perf_driver PROPERTIES
  LABELS perf TIMEOUT 600 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
