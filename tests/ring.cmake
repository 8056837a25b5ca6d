# SPDX-License-Identifier: Apache-2.0
# The ring: exchange, sessions, attach, attachments.
set(ring_pair support/ring_pair.c support/failing_malloc.c)
torc_test(test_exchange LABEL unit SOURCES unit/ring/test_exchange.c LINK torc_ring)
target_compile_definitions(test_exchange PRIVATE TORC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
torc_test(test_session LABEL unit SOURCES unit/ring/test_session.c ${ring_pair} LINK torc_ring)
torc_test(test_handshake LABEL unit SOURCES unit/ring/test_handshake.c ${ring_pair} LINK torc_ring)
torc_test(test_attachment LABEL unit SOURCES unit/ring/test_attachment.c ${ring_pair} LINK torc_ring)
torc_test(prop_ring LABEL prop SOURCES prop/prop_ring.c ${ring_pair} LINK torc_ring)
torc_test(stress_ring LABEL stress SOURCES stress/stress_ring.c ${ring_pair} LINK torc_ring)
torc_test(stress_ring_mutator LABEL stress SOURCES stress/stress_ring_mutator.c ${ring_pair}
          LINK torc_ring)
foreach(test test_session test_handshake test_attachment prop_ring stress_ring stress_ring_mutator)
  target_link_options(${test} PRIVATE -Wl,--wrap=malloc)
endforeach()
torc_fuzz(fuzz_slot SOURCES fuzz/fuzz_slot.c support/ring_pair.c CORPUS slot LINK torc_ring)
torc_fuzz(fuzz_handshake SOURCES fuzz/fuzz_handshake.c CORPUS handshake LINK torc_ring)

# The models of the protocol (docs/models), and the faults that they must find.
add_test(NAME lint_spin
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/spin.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(lint_spin PROPERTIES LABELS lint TIMEOUT 600 SKIP_RETURN_CODE 77)
