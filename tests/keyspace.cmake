# SPDX-License-Identifier: Apache-2.0
# hash: records, full hashes, keyspaces.
torc_test(test_record LABEL unit SOURCES unit/hash/test_record.c LINK torc_hash)
torc_test(test_full LABEL unit SOURCES unit/hash/test_full.c LINK torc_hash)
torc_test(test_keyspace LABEL unit SOURCES unit/hash/test_keyspace.c LINK torc_hash)
torc_test(test_keyspace_encoding LABEL unit SOURCES unit/hash/test_keyspace_encoding.c LINK torc_hash)
torc_test(test_keyspace_memory LABEL unit SOURCES unit/hash/test_keyspace_memory.c LINK torc_hash)
torc_test(test_keyspace_check LABEL unit SOURCES unit/hash/test_keyspace_check.c LINK torc_hash)
torc_test(test_evict LABEL unit SOURCES unit/hash/test_evict.c LINK torc_hash)
torc_test(test_demote LABEL unit SOURCES unit/hash/test_demote.c LINK torc_hash)
torc_test(test_cleaner LABEL unit SOURCES unit/hash/test_cleaner.c LINK torc_hash)
torc_test(prop_full LABEL prop SOURCES prop/prop_full.c support/model.c LINK torc_hash)
torc_test(prop_keyspace LABEL prop SOURCES prop/prop_keyspace.c support/model.c LINK torc_hash)
torc_test(prop_scan LABEL prop SOURCES prop/prop_scan.c LINK torc_hash)
