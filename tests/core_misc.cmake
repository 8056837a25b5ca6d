# SPDX-License-Identifier: Apache-2.0
# core: clocks, histograms, checksums, CPU levels, placement, options, hashing.
foreach(module clock histogram checksum cpu placement options options_file hashing)
  torc_test(test_${module} LABEL unit SOURCES unit/core/test_${module}.c LINK torc_core)
endforeach()
torc_test(prop_histogram LABEL prop SOURCES prop/prop_histogram.c LINK torc_core)
torc_fuzz(fuzz_options SOURCES fuzz/fuzz_options.c CORPUS options LINK torc_core)
