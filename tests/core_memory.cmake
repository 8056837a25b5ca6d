# SPDX-License-Identifier: Apache-2.0
# core: region, arena, segments.
torc_test(test_region LABEL unit SOURCES unit/core/test_region.c LINK torc_core)
torc_test(test_arena LABEL unit SOURCES unit/core/test_arena.c LINK torc_core)
torc_test(test_segment LABEL unit SOURCES unit/core/test_segment.c LINK torc_core)
torc_test(prop_arena LABEL prop SOURCES prop/prop_arena.c LINK torc_core)
torc_test(prop_segment LABEL prop SOURCES prop/prop_segment.c LINK torc_core)
