# SPDX-License-Identifier: Apache-2.0
# hash: compact blocks.
torc_test(test_compact LABEL unit SOURCES unit/hash/test_compact.c LINK torc_hash)
torc_test(test_compact_kernels LABEL unit SOURCES unit/hash/test_compact_kernels.c LINK torc_hash)
torc_test(prop_compact LABEL prop SOURCES prop/prop_compact.c LINK torc_hash)
torc_fuzz(fuzz_compact SOURCES fuzz/fuzz_compact.c CORPUS compact LINK torc_hash)
