/* SPDX-License-Identifier: Apache-2.0
 *
 * What a scan promises, against a model: whatever is there from its first page to its last is shown
 * at least once, what is shown is there at that moment, and it ends. Several scans of one hash, and
 * of all keys, are under way at a time, while names are set, replaced and removed in waves, so that
 * tables grow and shrink many times over, hashes become full and are born compact again, limits
 * change, and maintenance moves records between the pages.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "hash/keyspace.h"
#include "tests/support/arena_fixture.h"
#include "tests/support/prng.h"

#define NAMES      6000u
#define SCANS      3u
#define BURST_MOST 300u
#define PAGES_MOST 200000u /* of one scan: far more than it can need */

/* Names of one hash, or of all keys. */
enum what { FIELDS, KEYS };

struct scan {
    uint64_t cursor;
    uint64_t n_pages;
    uint64_t min_homes; /* COUNT */
    bool must[NAMES];   /* there since the first page, */
    bool seen[NAMES];
};

struct bench {
    enum what what;
    struct torc_arena *arena;
    struct torc_hash_limits limits;
    struct torc_keyspace *keyspace;
    struct torc_prng prng;
    struct scan scans[SCANS];
    struct scan *current; /* whose page is being visited */
    bool is_there[NAMES];
    uint64_t n_there;
    uint64_t n_ended, n_compact, n_full, n_births;
};

static uint64_t below(struct bench *b, uint64_t n)
{
    return torc_prng_below(&b->prng, n);
}

static struct torc_slice name_of(unsigned i, char buffer[16])
{
    return torc_slice_of(buffer, (size_t)snprintf(buffer, 16, "name:%u", i));
}

static struct torc_key hash_key(const struct bench *b)
{
    return torc_keyspace_key(b->keyspace, torc_slice_str("hash"));
}

static void see(struct bench *b, struct torc_slice name)
{
    char text[16] = "";
    ck_assert_uint_lt(name.len, sizeof text);
    memcpy(text, name.data, name.len);
    ck_assert_int_eq(strncmp(text, "name:", 5), 0);
    unsigned long i = strtoul(text + 5, NULL, 10);
    ck_assert_uint_lt(i, NAMES);
    ck_assert_msg(b->is_there[i], "%s was shown and is not there", text);
    b->current->seen[i] = true;
}

static void see_field(void *arg, const struct torc_pair *pair)
{
    see(arg, pair->field);
}

static void see_key(void *arg, struct torc_slice key, enum torc_type type)
{
    ck_assert_int_eq(type, TORC_TYPE_HASH);
    see(arg, key);
}

static void begin_scan(struct bench *b, struct scan *scan)
{
    static const uint64_t counts[] = {1, 2, 3, 10, 100};
    memset(scan, 0, sizeof *scan);
    memcpy(scan->must, b->is_there, sizeof scan->must);
    scan->min_homes = counts[below(b, sizeof counts / sizeof counts[0])];
}

static void turn_page(struct bench *b, struct scan *scan)
{
    b->current = scan;
    if (b->what == FIELDS) {
        struct torc_key key = hash_key(b);
        int rc = torc_hash_scan(b->keyspace, &key, scan->cursor, scan->min_homes, TORC_PAIRS,
                                see_field, b, &scan->cursor);
        ck_assert_int_eq(rc, 0);
    } else {
        scan->cursor = torc_keyspace_scan(b->keyspace, scan->cursor, scan->min_homes, see_key, b);
    }
    ck_assert_msg(++scan->n_pages < PAGES_MOST, "a scan does not end");
    if (scan->cursor != 0) {
        return;
    }
    for (unsigned i = 0; i < NAMES; i++) {
        ck_assert_msg(!scan->must[i] || scan->seen[i], "name:%u was there all the time, not shown",
                      i);
    }
    b->n_ended++;
    begin_scan(b, scan);
}

static void put_name(struct bench *b, unsigned i)
{
    char buffer[16];
    static char text[600];
    struct torc_slice name = name_of(i, buffer);
    struct torc_key key = b->what == FIELDS ? hash_key(b) : torc_keyspace_key(b->keyspace, name);
    size_t len = below(b, 200) == 0 ? below(b, sizeof text) : below(b, 12);
    struct torc_pair pair = {
        .field = b->what == FIELDS ? name : torc_slice_str("f"),
        .value = torc_slice_of(memset(text, 'v', sizeof text), len),
    };
    int64_t rc = torc_hash_put(b->keyspace, &key, &pair, 1);
    ck_assert_int_eq(rc, b->is_there[i] ? 0 : 1);
    b->n_there += !b->is_there[i];
    b->is_there[i] = true;
}

static void delete_name(struct bench *b, unsigned i)
{
    char buffer[16];
    struct torc_slice name = name_of(i, buffer);
    struct torc_key key = b->what == FIELDS ? hash_key(b) : torc_keyspace_key(b->keyspace, name);
    int64_t rc = b->what == FIELDS ? torc_hash_del(b->keyspace, &key, &name, 1)
                                   : torc_keyspace_del(b->keyspace, &key);
    ck_assert_int_eq(rc, b->is_there[i]);
    b->n_there -= b->is_there[i];
    b->is_there[i] = false;
    for (unsigned s = 0; s < SCANS; s++) {
        b->scans[s].must[i] = false;
    }
}

/* All at once, as DEL of the hash or FLUSHDB: what comes next is born anew, compact. */
static void delete_all(struct bench *b)
{
    struct torc_key key = hash_key(b);
    if (b->what == FIELDS) {
        ck_assert_int_eq(torc_keyspace_del(b->keyspace, &key), b->n_there != 0);
    } else {
        torc_keyspace_flush(b->keyspace);
    }
    memset(b->is_there, 0, sizeof b->is_there);
    for (unsigned s = 0; s < SCANS; s++) {
        memset(b->scans[s].must, 0, sizeof b->scans[s].must);
    }
    b->n_there = 0;
    b->n_births++;
}

/* Names side by side or scattered; the wave says whether more are set or removed. */
static void change(struct bench *b, bool is_rising)
{
    unsigned n = (unsigned)below(b, BURST_MOST);
    unsigned first = (unsigned)below(b, NAMES);
    bool is_scattered = below(b, 2) == 0;
    bool is_put = below(b, 4) != 0 ? is_rising : !is_rising;
    for (unsigned k = 0; k < n; k++) {
        unsigned i = is_scattered ? (unsigned)below(b, NAMES) : (first + k) % NAMES;
        (is_put ? put_name : delete_name)(b, i);
    }
}

static void change_limits(struct bench *b)
{
    static const uint32_t entries[] = {0, 16, 512, 65535};
    static const uint32_t values[] = {8, 64, 32767};
    b->limits.compact_max_entries = entries[below(b, 4)];
    b->limits.compact_max_value = values[below(b, 3)];
}

static void note_form(struct bench *b)
{
    struct torc_key key = hash_key(b);
    enum torc_encoding encoding = torc_keyspace_encoding(b->keyspace, &key);
    b->n_compact += encoding == TORC_ENCODING_COMPACT;
    b->n_full += encoding == TORC_ENCODING_FULL;
}

/* *n_compact: steps in which the hash was compact, added up. */
static void run(enum what what, uint64_t seed, uint64_t *n_compact)
{
    static struct bench b;
    memset(&b, 0, sizeof b);
    b.what = what;
    b.prng.state = seed;
    b.limits = (struct torc_hash_limits)TORC_HASH_LIMITS_DEFAULT;
    b.arena = torc_test_arena(512 * TORC_MIB, torc_prng_next(&b.prng));
    ck_assert_int_eq(torc_keyspace_open(b.arena, 0, &b.limits, &b.keyspace), 0);
    for (unsigned s = 0; s < SCANS; s++) {
        begin_scan(&b, &b.scans[s]);
    }
    uint64_t n_steps = torc_test_ops(2000);
    for (uint64_t step = 0; step < n_steps; step++) {
        bool is_rising = step / 150 % 2 == 0;
        uint64_t dice = below(&b, 100);
        if (dice < 12) {
            change(&b, is_rising);
        } else if (dice < 14) {
            change_limits(&b);
        } else if (dice < 22) {
            (void)torc_keyspace_maintain(b.keyspace, (unsigned)below(&b, 200));
        } else if (dice < 23) {
            (void)torc_keyspace_settle(b.keyspace, false, (unsigned)below(&b, 500));
        } else if (dice == 23 && below(&b, 4) == 0) {
            delete_all(&b);
        } else {
            turn_page(&b, &b.scans[below(&b, SCANS)]);
        }
        note_form(&b);
        if (step % 512 == 0) {
            const char *why = "";
            ck_assert_msg(torc_keyspace_check(b.keyspace, &why) == 0, "%s", why);
        }
    }
    /* Nothing changes any more: each scan under way still keeps its promise. */
    for (unsigned s = 0; s < SCANS; s++) {
        uint64_t n_ended = b.n_ended;
        while (b.n_ended == n_ended) {
            turn_page(&b, &b.scans[s]);
        }
    }
    printf("%s, seed %llu: %llu scans ended, %llu steps compact, %llu full, %llu births\n",
           what == FIELDS ? "fields" : "keys", (unsigned long long)seed,
           (unsigned long long)b.n_ended, (unsigned long long)b.n_compact,
           (unsigned long long)b.n_full, (unsigned long long)b.n_births);
    ck_assert_uint_gt(b.n_ended, SCANS);
    ck_assert(what == KEYS || b.n_full != 0);
    *n_compact += b.n_compact;
    torc_keyspace_close(b.keyspace);
    torc_arena_destroy(b.arena);
}

START_TEST(fields_that_stay_are_shown)
{
    uint64_t seed = torc_test_seed(0x5ca1);
    uint64_t n_compact = 0;
    for (uint64_t i = 0; i < 4; i++) {
        run(FIELDS, seed + i, &n_compact);
    }
    ck_assert_uint_ne(n_compact, 0);
}
END_TEST

START_TEST(keys_that_stay_are_shown)
{
    uint64_t seed = torc_test_seed(0x5ca2);
    uint64_t n_compact = 0;
    for (uint64_t i = 0; i < 3; i++) {
        run(KEYS, seed + i, &n_compact);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tcase = tcase_create("scan");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, fields_that_stay_are_shown);
    tcase_add_test(tcase, keys_that_stay_are_shown);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
