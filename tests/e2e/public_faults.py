# SPDX-License-Identifier: Apache-2.0
"""Faults that others had, in public: what must hold in torc instead, and which test holds it.

public_faults.txt lists them by number and thread. CASES says for each of them: a function of
faults_hash.py, faults_expiry.py or faults_wire.py, which is run here; the place of a test that stands elsewhere, which
must be there; what of the server it waits for; or why it can never apply. A number without an entry
fails, and so does an entry whose test is gone."""

import os
import re

import faults_expiry as expiry
import faults_hash as hashes
import faults_wire as wire
from torcd_harness import parse_arguments, run_tests

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Elsewhere:
    """A test that stands in another file: a function of check or of Python, or the whole file."""

    def __init__(self, path, name=None):
        self.path = path
        self.name = name

    def is_there(self):
        path = os.path.join(os.path.dirname(TESTS), self.path)
        if not os.path.exists(path):
            return False
        with open(path) as f:
            text = f.read()
        pattern = r"(START_TEST\(|def )%s\b"
        return self.name is None or re.search(pattern % self.name, text) is not None


def unit(path, name):
    return Elsewhere("tests/unit/" + path, name)


class Waits:
    """It applies once the server has this."""

    def __init__(self, what):
        self.what = what


class Never:
    """It cannot apply, because."""

    def __init__(self, why):
        self.why = why


SNAPSHOTS = Waits("snapshots")
NETWORK = Waits("a network road without the kernel")
JOURNAL = Waits("a journal")
PASSWORDS = Waits("passwords")
CLIENT_REPLY = Waits("CLIENT REPLY")
KILL_CLIENT = Elsewhere("tests/e2e/kill_client.c")
STRESS_RING = Elsewhere("tests/stress/stress_ring.c")

CASES = {
    # Hash encoding and wide reads
    1: [hashes.every_write_path_keeps_the_limits],
    3: [
        hashes.one_command_with_many_pairs_counts_each_field_once,
        unit(
            "hash/test_keyspace.c", "one_field_many_times_in_a_command_takes_no_more_than_once"
        ),
    ],
    5: [hashes.no_setting_makes_a_compact_block_too_large],
    7: [hashes.one_command_may_delete_nearly_everything],
    9: [hashes.the_second_mention_sees_the_first],
    11: [hashes.increments_do_not_wrap_round],
    # Hash field expiration
    13: [expiry.a_field_named_twice_is_set_once],
    15: [expiry.blocks_without_a_number_are_refused],
    17: [expiry.counts_match_the_fields_exactly],
    19: [expiry.negative_times_are_refused_for_fields_and_past_for_keys],
    21: [expiry.counters_of_times_are_right_after_every_command],
    23: [expiry.a_refused_condition_creates_nothing],
    25: [expiry.absent_keys_have_an_array_of_nils],
    27: [hashes.keywords_are_read_in_any_case, expiry.words_of_times_are_read_in_any_case],
    29: [expiry.what_replaces_a_hash_leaves_none_of_its_times],
    31: [
        hashes.commands_that_change_nothing_keep_no_memory,
        expiry.times_of_absent_fields_keep_no_memory,
    ],
    33: [expiry.ended_fields_are_not_revived, JOURNAL],
    35: [expiry.many_fields_of_one_second_and_one_of_the_next],
    37: [expiry.increments_keep_the_time],
    39: [expiry.only_the_public_form_of_hsetex],
    41: [Waits("events of keys")],
    # HSCAN and HRANDFIELD
    43: [
        hashes.scans_show_what_stays_while_the_rest_changes,
        Elsewhere("tests/prop/prop_scan.c"),
        unit("hash/test_table.c", "a_scan_leaves_nothing_out_while_the_table_grows_and_shrinks"),
    ],
    45: [hashes.patterns_see_names_as_printed_and_keep_pairs_together],
    47: [unit("tools/test_commands_scan.c", "a_small_hash_comes_in_one_page")],
    49: [
        unit(
            "tools/test_commands_scan.c", "a_scan_of_any_size_ends_and_empty_last_pages_are_rare"
        )
    ],
    51: [hashes.random_fields_have_the_shape_of_their_arguments],
    53: [
        hashes.huge_random_counts_are_refused_and_nobody_waits,
        unit("tools/test_commands_random.c", "picks_with_repetition_have_a_limit"),
        unit("tools/test_commands_random.c", "work_stops_when_a_reply_is_above_its_limit"),
    ],
    55: [
        unit("tools/test_commands_random.c", "picks_from_a_full_hash_are_fair"),
        unit("tools/test_commands_random.c", "picks_from_a_hash_that_was_large_are_fair"),
    ],
    57: [hashes.every_random_count_has_exactly_one_reply],
    # HINCRBYFLOAT
    59: [
        hashes.decimal_sums_are_those_of_redis,
        unit("tools/test_commands_number.c", "tails_are_those_of_80_bits"),
    ],
    61: [
        hashes.decimal_sums_are_those_of_redis,
        unit("tools/test_commands_number.c", "integers_beyond_doubles_are_exact"),
    ],
    63: [JOURNAL],
    # RESP parsing and protocol
    65: [wire.lines_may_end_with_lf_alone],
    67: [wire.a_long_argument_may_come_in_any_pieces],
    69: [wire.an_argument_may_take_more_than_half_of_the_memory],
    71: [wire.empty_arguments_are_ordinary_at_every_edge],
    73: [
        wire.headers_alone_reserve_nothing,
        unit("tools/test_resp_parser.c", "a_count_alone_reserves_no_memory"),
        PASSWORDS,
    ],
    75: [unit("tools/test_connection.c", "a_request_above_the_query_limit_is_cut"), PASSWORDS],
    77: [wire.one_command_has_a_bounded_size],
    79: [CLIENT_REPLY],
    81: [hashes.empty_replies_are_the_same_in_every_form],
    83: [wire.types_of_replies_do_not_depend_on_emptiness],
    85: [wire.hello_answers_with_bulk_strings],
    87: [
        wire.depth_is_refused_at_once,
        unit("tools/test_resp_reply.c", "what_is_no_reply_is_refused"),
    ],
    89: [
        wire.replies_survive_a_slow_reader,
        unit("tools/test_reply.c", "the_output_grows_moves_and_keeps_its_bytes"),
    ],
    # Memory
    91: [
        wire.readers_who_do_not_read_cost_no_data,
        Elsewhere(
            "tests/e2e/server_stalls.py", "a_resp_client_that_never_reads_costs_a_bounded_memory"
        ),
    ],
    93: [unit("hash/test_keyspace_memory.c", "usage_is_true_to_the_byte")],
    95: [hashes.churn_stays_near_the_limit_of_memory],
    97: [hashes.deleted_fields_give_their_memory_back],
    99: [
        unit(
            "tools/test_connection.c",
            "the_same_value_takes_the_same_memory_inline_and_in_an_array",
        )
    ],
    # Snapshots and images
    101: [SNAPSHOTS],
    103: [SNAPSHOTS],
    105: [SNAPSHOTS],
    107: [JOURNAL],
    109: [SNAPSHOTS],
    111: [SNAPSHOTS],
    # Clients
    113: [wire.clients_that_leave_in_the_middle_leave_nothing],
    115: [wire.a_reply_has_one_shape_in_a_protocol, Waits("MULTI and EXEC")],
    117: [wire.what_is_not_known_is_answered_and_the_connection_stays],
    119: [wire.prose_is_verbatim_in_resp3],
    121: [
        wire.a_pipe_of_both_directions_does_not_stand_still,
        Elsewhere(
            "tests/e2e/server_stalls.py", "a_client_that_writes_all_before_it_reads_gets_all"
        ),
    ],
    123: [CLIENT_REPLY],
    # Shared memory and processes
    125: [wire.a_killed_server_can_be_started_again_whatever_is_left],
    127: [KILL_CLIENT],
    129: [
        Elsewhere(
            "tests/e2e/server_stalls.py",
            "a_ring_client_stopped_with_a_full_window_costs_nobody_anything",
        ),
        unit("ring/test_session.c", "a_pull_gets_on_when_every_slot_is_taken"),
    ],
    131: [unit("ring/test_session.c", "sizes_out_of_range_make_no_session")],
    133: [STRESS_RING, Elsewhere("docs/models/publish.pml")],
    135: [KILL_CLIENT, Elsewhere("tests/e2e/kill_server.c")],
    137: [Never("no lock is shared between processes: a slot belongs to one side at a time")],
    139: [wire.a_client_stopped_beyond_its_time_ends_with_a_clear_error],
    141: [
        wire.clients_that_say_nothing_keep_nobody_out,
        unit("tools/test_rings.c", "a_handshake_that_stops_half_way_is_given_up"),
    ],
    143: [STRESS_RING, Elsewhere("docs/models/publish.pml")],
    145: [
        STRESS_RING,
        Elsewhere("docs/models/wakeup.pml"),
        unit("tools/test_rings.c", "a_sleeping_poller_is_woken"),
    ],
    147: [
        unit(
            "ring/test_session.c",
            "no_more_are_taken_than_asked_for_than_a_batch_than_there_are",
        )
    ],
    149: [
        unit("ring/test_session.c", "without_descriptors_or_memory_nothing_is_left_behind"),
        unit(
            "ring/test_session.c",
            "a_hole_punched_before_sealing_breaks_that_session_and_faults_nowhere",
        ),
    ],
    151: [KILL_CLIENT, unit("tools/test_rings.c", "sessions_leave_nothing_behind")],
    # DPDK
    153: [NETWORK],
    155: [NETWORK],
    157: [
        Elsewhere(
            "tests/e2e/server_start.py", "huge_pages_that_are_not_there_are_refused_or_reported"
        ),
        unit("core/test_region.c", "huge_yes_gives_hugetlb_or_fails_for_want_of_pages"),
    ],
    159: [Never("pages are memfds without a name: there are no files to unlink or to open again")],
    161: [NETWORK],
    163: [NETWORK],
    165: [
        NETWORK,
        unit("ring/test_session.c", "without_descriptors_or_memory_nothing_is_left_behind"),
    ],
    # Feast
    167: [expiry.a_view_of_many_has_times_of_its_own],
    169: [hashes.repeated_names_are_answered_each_time],
    171: [hashes.names_are_opaque_bytes],
    173: [expiry.a_time_that_is_only_ever_extended],
    # Goblin Core
    175: [
        unit("core/test_segment.c", "a_segment_is_filled_to_its_last_byte"),
        unit("core/test_arena.c", "small_blocks_fill_a_page_before_the_next_is_taken"),
        unit("core/test_arena.c", "the_smallest_capacity_gives_nearly_all_of_it"),
    ],
    177: [SNAPSHOTS],
    179: [SNAPSHOTS],
    181: [
        Elsewhere(
            "tests/e2e/server_clients.py", "an_idle_server_uses_less_than_one_per_cent_of_a_core"
        )
    ],
    # Sorted sets
    183: [Waits("sorted sets")],
    185: [hashes.empty_replies_are_the_same_in_every_form, Waits("sorted sets")],
    187: [
        Never("numbers are read by strtold(), not by a fast path of our own"),
        unit("tools/test_commands_number.c", "tails_are_those_of_80_bits"),
    ],
}


def listed():
    """The numbers of public_faults.txt, and the thread of each."""
    threads = {}
    with open(os.path.join(TESTS, "e2e", "public_faults.txt")) as f:
        for line in f:
            if not line.startswith("#"):
                number, thread = line.rstrip("\n").split(" ", 1)
                assert int(number) not in threads, "%s is listed twice" % number
                threads[int(number)] = thread
    return threads


def the_table_covers_every_listed_fault():
    threads = listed()
    assert set(CASES) == set(threads), set(CASES) ^ set(threads)
    for number, entries in CASES.items():
        assert entries, number
        for entry in entries:
            if isinstance(entry, Elsewhere):
                assert entry.is_there(), "%d: %s has no %s" % (number, entry.path, entry.name)
    # Each test of ours is in the table, and its first line has the thread it is for.
    used = {}
    for number, entries in CASES.items():
        for entry in entries:
            if callable(entry):
                used.setdefault(entry, []).append(number)
    for module in (hashes, expiry, wire):
        for function in tests_of(module):
            assert function in used, "%s is in no case" % function.__name__
            for number in used[function]:
                # The first of a case's threads, without what stands behind it.
                thread = threads[number].split()[0].rstrip(",")
                assert thread in function.__doc__, (number, thread, function.__name__)


def tests_of(module):
    """Functions that take what the command line said."""
    return [
        f
        for f in vars(module).values()
        if callable(f)
        and getattr(f, "__module__", "") == module.__name__
        and f.__code__.co_varnames[: f.__code__.co_argcount] == ("arguments",)
    ]


def bound(function, arguments):
    def run():
        function(arguments)

    run.__name__ = function.__name__
    return run


def counts():
    """All, those with a test, those that only wait, those that never apply."""
    tested = waiting = never = 0
    for entries in CASES.values():
        if any(callable(e) or isinstance(e, Elsewhere) for e in entries):
            tested += 1
        elif any(isinstance(e, Waits) for e in entries):
            waiting += 1
        else:
            never += 1
    return len(CASES), tested, waiting, never


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()
    run_tests([the_table_covers_every_listed_fault])
    run_tests([bound(f, ARGUMENTS) for module in (hashes, expiry, wire) for f in tests_of(module)])
    print("%d faults: %d tested now, %d wait, %d never apply" % counts())
