# SPDX-License-Identifier: Apache-2.0
# The replies of torcd against what they should be: golden tables, and random streams against a
# redis-server and between the roads. The limits of time are for sanitizers and TORC_LONG.
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
set(golden_tests diff_resp diff_ring diff_comparing)
add_test(NAME diff_resp COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/resp_diff.py
                                $<TARGET_FILE:torcd>)
add_test(NAME diff_ring COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/ring_diff.py
                                $<TARGET_FILE:torcd> $<TARGET_FILE:ring_over_stdio>)
add_test(NAME diff_comparing
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/test_comparing.py)
set_tests_properties(${golden_tests} PROPERTIES LABELS diff TIMEOUT 1800)
set_tests_properties(${golden_tests} PROPERTIES
  SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
