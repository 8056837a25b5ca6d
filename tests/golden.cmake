# SPDX-License-Identifier: Apache-2.0
# The replies of torcd against what they should be: golden tables, and random streams against a
# redis-server and between the roads. The limits of time are for sanitizers and TORC_LONG.
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
set(diff_tests diff_resp diff_ring diff_resp_compression diff_ring_compression)
add_test(NAME diff_resp COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/resp_diff.py
                                $<TARGET_FILE:torcd>)
add_test(NAME diff_ring COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/ring_diff.py
                                $<TARGET_FILE:torcd> $<TARGET_FILE:ring_over_stdio>)
# The same streams with values that are kept compressed.
set(diff_compression --setting value-compression-min-bytes=64)
add_test(NAME diff_resp_compression
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/resp_diff.py
                 $<TARGET_FILE:torcd> ${diff_compression})
add_test(NAME diff_ring_compression
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/ring_diff.py
                 $<TARGET_FILE:torcd> $<TARGET_FILE:ring_over_stdio> ${diff_compression})
if(TORC_TEST_ONCE)
  add_test(NAME diff_comparing
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/diff/test_comparing.py)
  list(APPEND diff_tests diff_comparing)
endif()
set_tests_properties(${diff_tests} PROPERTIES LABELS diff TIMEOUT 1800)
set_tests_properties(${diff_tests} PROPERTIES
  SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

# Exact replies, and the same tables against a redis-server 7.0.
set(golden ${CMAKE_CURRENT_SOURCE_DIR}/e2e/golden.py)
add_test(NAME golden_torcd COMMAND ${Python3_EXECUTABLE} ${golden} --torcd $<TARGET_FILE:torcd>)
set_tests_properties(golden_torcd PROPERTIES LABELS e2e TIMEOUT 300
  SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
if(TORC_TEST_ONCE)
  add_test(NAME golden_redis COMMAND ${Python3_EXECUTABLE} ${golden} --oracle)
  add_test(NAME golden_format
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/test_golden_file.py)
  set_tests_properties(golden_redis golden_format PROPERTIES LABELS e2e TIMEOUT 300
    SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()
