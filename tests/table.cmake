# SPDX-License-Identifier: Apache-2.0
# hash: the table, built with hooks so that tests can force collisions and count work.
set(table_hash ${CMAKE_SOURCE_DIR}/hash)
add_library(torc_table_hooked STATIC
  ${table_hash}/table.c ${table_hash}/table_blocks.c ${table_hash}/table_check.c
  ${table_hash}/table_marks.c ${table_hash}/table_place.c ${table_hash}/table_scan.c ${table_hash}/table_stretch.c
  support/table_fixture.c)
target_compile_options(torc_table_hooked PUBLIC
  -include ${CMAKE_CURRENT_SOURCE_DIR}/support/table_hooks.h)
target_link_libraries(torc_table_hooked PUBLIC torc_flags torc_core)

torc_test(test_line LABEL unit SOURCES unit/hash/test_line.c LINK torc_core)
torc_test(test_table LABEL unit SOURCES unit/hash/test_table.c LINK torc_table_hooked)
torc_test(prop_table LABEL prop SOURCES prop/prop_table.c LINK torc_table_hooked)
torc_test(prop_due LABEL prop SOURCES prop/prop_due.c ${table_hash}/due.c LINK torc_table_hooked)
