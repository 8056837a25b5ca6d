# SPDX-License-Identifier: Apache-2.0
# Tests of the sources themselves.
foreach(rule layers format tokens cppcheck tidy shell)
  add_test(NAME lint_${rule}
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/${rule}.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(lint_${rule} PROPERTIES LABELS lint TIMEOUT 900 SKIP_RETURN_CODE 77)
endforeach()

# Every header compiles alone.
add_test(NAME lint_headers
         COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target all_verify_interface_header_sets)
set_tests_properties(lint_headers PROPERTIES LABELS lint TIMEOUT 300)
