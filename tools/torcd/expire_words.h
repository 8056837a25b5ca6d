/* SPDX-License-Identifier: Apache-2.0
 *
 * The words behind the key of commands on times: conditions, times, and the FIELDS block. One
 * parser for both paths. Pure functions: nothing is looked up, and fields are slices of the words.
 */
#ifndef TORC_TORCD_EXPIRE_WORDS_H
#define TORC_TORCD_EXPIRE_WORDS_H

#include "core/slice.h"
#include "tools/torcd/errors.h"

/* The unit of a time, and from when it counts. */
struct torc_time_form {
    bool is_ms;       /* else seconds */
    bool is_absolute; /* since 1970, else from now on */
};

/* What a command may have, as bits. */
enum torc_expire_words {
    TORC_WORDS_CONDITION = 1,  /* NX, XX, GT or LT: HEXPIRE */
    TORC_WORDS_TIME = 2,       /* EX, PX, EXAT, PXAT */
    TORC_WORDS_PERSIST = 4,    /* in place of a time: HGETEX */
    TORC_WORDS_KEEPTTL = 8,    /* in place of a time: HSETEX */
    TORC_WORDS_EXISTENCE = 16, /* FXX, FNX: HSETEX */
    TORC_WORDS_PAIRS = 32,     /* a value behind each field: HSETEX */
};

enum torc_field_existence {
    TORC_FIELDS_ANY,
    TORC_FIELDS_ALL_NEW,   /* FNX */
    TORC_FIELDS_ALL_THERE, /* FXX */
};

struct torc_field_words {
    const struct torc_slice *fields; /* n_fields, or as many pairs; borrowed */
    uint32_t n_fields;               /* at least 1 */
    unsigned conditions;             /* enum torc_expire_condition */
    enum torc_field_existence existence;
    bool has_time;
    bool persists; /* PERSIST */
    bool keeps;    /* KEEPTTL */
    uint64_t when; /* if has_time: 1 to TORC_EXPIRY_MAX */
};

struct torc_words_fault {
    enum torc_fault fault;
    struct torc_slice word; /* that the fault's text names */
};

/* The time that `value` in this form means, at `now` (milliseconds since 1970). Fields refuse what
 * is negative; of a key it is a past time. A time that is past stays so: what is at or before `now`
 * may come as any such time, at least 1. Returns TORC_FAULT_NONE, TORC_FAULT_EXPIRE_NEGATIVE, or
 * TORC_FAULT_EXPIRE_TIME if it is above TORC_EXPIRY_MAX. */
enum torc_fault torc_expire_time(int64_t value, struct torc_time_form form, uint64_t now,
                                 bool takes_negative, uint64_t *out_when) TORC_MUST_USE;

/* NX, XX, GT, LT of EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT: XX may stand with GT or LT. */
struct torc_words_fault torc_key_conditions(const struct torc_slice *words, uint32_t n,
                                            unsigned *out_conditions) TORC_MUST_USE;

/* The n words behind the key (and the time) of HEXPIRE and its like, HGETEX, HSETEX: options and
 * one `FIELDS n field ...` in any order. `allowed` is a sum of enum torc_expire_words; `command` is
 * named by faults. Words inside the block are never options. O(n). */
struct torc_words_fault torc_field_words(const struct torc_slice *words, uint32_t n,
                                         unsigned allowed, const char *command, uint64_t now,
                                         struct torc_field_words *out_words) TORC_MUST_USE;

/* The strict form of HTTL, HPERSIST, HGETDEL and their like: the block and nothing else. O(1). */
enum torc_fault torc_field_block(const struct torc_slice *words, uint32_t n,
                                 struct torc_field_words *out_words) TORC_MUST_USE;

/* is_repeat[i] says whether fields[i] stands among those before it. False: no memory.
 * O(n_fields). */
bool torc_find_repeats(const struct torc_slice *fields, uint32_t n_fields, uint64_t seed,
                       bool *out_is_repeat) TORC_MUST_USE;

#endif
