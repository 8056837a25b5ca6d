# SPDX-License-Identifier: Apache-2.0
# hash: the value codec, compact blocks.
foreach(module codec compact compact_common compact_join compact_kernels compact_check compact_expiry)
  torc_test(test_${module} LABEL unit SOURCES unit/hash/test_${module}.c LINK torc_hash)
endforeach()
torc_test(prop_compact LABEL prop SOURCES prop/prop_compact.c LINK torc_hash)
torc_fuzz(fuzz_codec SOURCES fuzz/fuzz_codec.c CORPUS codec LINK torc_hash)
torc_fuzz(fuzz_compact SOURCES fuzz/fuzz_compact.c CORPUS compact LINK torc_hash)
