/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/expire_words.h"

#include <stdlib.h>

#include "core/hashing.h"
#include "hash/expiry.h"
#include "tools/torcd/commands_private.h"

#define SMALL_SET 128u /* slots: on the stack */

static struct torc_words_fault fault_of(enum torc_fault fault, struct torc_slice word)
{
    return (struct torc_words_fault){.fault = fault, .word = word};
}

static struct torc_words_fault fault_alone(enum torc_fault fault)
{
    return fault_of(fault, torc_slice_str(""));
}

enum torc_fault torc_expire_time(int64_t value, struct torc_time_form form, uint64_t now,
                                 bool takes_negative, uint64_t *out_when)
{
    if (value < 0 && !takes_negative) {
        return TORC_FAULT_EXPIRE_NEGATIVE;
    }
    int64_t ms = value;
    if (!form.is_ms && __builtin_mul_overflow(value, 1000, &ms)) {
        return TORC_FAULT_EXPIRE_TIME;
    }
    if (!form.is_absolute && __builtin_add_overflow(ms, (int64_t)now, &ms)) {
        return TORC_FAULT_EXPIRE_TIME;
    }
    if (ms > (int64_t)TORC_EXPIRY_MAX) {
        return TORC_FAULT_EXPIRE_TIME;
    }
    *out_when = ms < 1 ? 1 : (uint64_t)ms;
    return TORC_FAULT_NONE;
}

/* The condition that a word is; TORC_EXPIRE_ALWAYS: none. */
static enum torc_expire_condition condition_of(struct torc_slice word)
{
    return torc_word_is(word, "nx")   ? TORC_EXPIRE_NX
           : torc_word_is(word, "xx") ? TORC_EXPIRE_XX
           : torc_word_is(word, "gt") ? TORC_EXPIRE_GT
           : torc_word_is(word, "lt") ? TORC_EXPIRE_LT
                                      : TORC_EXPIRE_ALWAYS;
}

struct torc_words_fault torc_key_conditions(const struct torc_slice *words, uint32_t n,
                                            unsigned *out_conditions)
{
    unsigned all = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum torc_expire_condition one = condition_of(words[i]);
        if (one == TORC_EXPIRE_ALWAYS) {
            return fault_of(TORC_FAULT_EXPIRE_OPTION, words[i]);
        }
        all |= one;
    }
    if ((all & TORC_EXPIRE_NX) != 0 && all != TORC_EXPIRE_NX) {
        return fault_alone(TORC_FAULT_EXPIRE_NX);
    }
    if ((all & TORC_EXPIRE_GT) != 0 && (all & TORC_EXPIRE_LT) != 0) {
        return fault_alone(TORC_FAULT_EXPIRE_GT_LT);
    }
    *out_conditions = all;
    return fault_alone(TORC_FAULT_NONE);
}

/* --- options and a block in any order --- */

struct walk {
    const struct torc_slice *words;
    uint32_t n;
    uint32_t at; /* the word that is looked at */
    unsigned allowed;
    const char *command;
    uint64_t now;
    struct torc_field_words *out;
};

/* The count behind FIELDS, and the fields; `at` is their last word afterwards. */
static struct torc_words_fault take_block(struct walk *w)
{
    int64_t count;
    if (w->out->fields != NULL) {
        return fault_alone(TORC_FAULT_FIELDS_TWICE);
    }
    if (w->at + 1 == w->n) {
        return fault_of(TORC_FAULT_ARITY, torc_slice_str(w->command));
    }
    if (!torc_word_integer(w->words[w->at + 1], &count) || count < 1 || count > INT32_MAX) {
        return fault_alone((w->allowed & TORC_WORDS_CONDITION) != 0 ? TORC_FAULT_NUMFIELDS
                                                                    : TORC_FAULT_NUMFIELDS_INVALID);
    }
    uint64_t n_words = (uint64_t)count * ((w->allowed & TORC_WORDS_PAIRS) != 0 ? 2 : 1);
    if (n_words > w->n - w->at - 2) {
        return fault_alone(TORC_FAULT_FIELDS_SHORT);
    }
    w->out->fields = w->words + w->at + 2;
    w->out->n_fields = (uint32_t)count;
    w->at += 1 + (uint32_t)n_words;
    return fault_alone(TORC_FAULT_NONE);
}

static bool has_time_option(const struct torc_field_words *out)
{
    return out->has_time || out->persists || out->keeps;
}

static struct torc_words_fault take_time(struct walk *w, struct torc_time_form form)
{
    int64_t value;
    if (w->at + 1 == w->n) {
        return fault_alone(TORC_FAULT_EXPIRE_MISSING);
    }
    if (!torc_word_integer(w->words[++w->at], &value)) {
        return fault_alone(TORC_FAULT_NOT_INTEGER);
    }
    w->out->has_time = true;
    return fault_of(torc_expire_time(value, form, w->now, false, &w->out->when),
                    torc_slice_str(w->command));
}

static bool find_time_form(struct torc_slice word, struct torc_time_form *out_form)
{
    static const struct {
        const char *word;
        struct torc_time_form form;
    } forms[] = {{"ex", {false, false}},
                 {"px", {true, false}},
                 {"exat", {false, true}},
                 {"pxat", {true, true}}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (torc_word_is(word, forms[i].word)) {
            *out_form = forms[i].form;
            return true;
        }
    }
    return false;
}

/* A time, or what stands in its place; `out_is_one`: the word is such an option. */
static struct torc_words_fault take_time_option(struct walk *w, bool *out_is_one)
{
    struct torc_slice word = w->words[w->at];
    struct torc_time_form form = {0};
    bool is_time = (w->allowed & TORC_WORDS_TIME) != 0 && find_time_form(word, &form);
    bool persists = (w->allowed & TORC_WORDS_PERSIST) != 0 && torc_word_is(word, "persist");
    bool keeps = (w->allowed & TORC_WORDS_KEEPTTL) != 0 && torc_word_is(word, "keepttl");
    *out_is_one = is_time || persists || keeps;
    if (*out_is_one && has_time_option(w->out)) {
        return fault_alone((w->allowed & TORC_WORDS_KEEPTTL) != 0 ? TORC_FAULT_ONE_TIME_KEEP
                                                                  : TORC_FAULT_ONE_TIME);
    }
    w->out->persists |= persists;
    w->out->keeps |= keeps;
    return is_time ? take_time(w, form) : fault_alone(TORC_FAULT_NONE);
}

static struct torc_words_fault take_existence(struct walk *w, bool *out_is_one)
{
    struct torc_slice word = w->words[w->at];
    bool all_new = torc_word_is(word, "fnx");
    bool may = (w->allowed & TORC_WORDS_EXISTENCE) != 0;
    *out_is_one = may && (all_new || torc_word_is(word, "fxx"));
    if (*out_is_one) {
        if (w->out->existence != TORC_FIELDS_ANY) {
            return fault_alone(TORC_FAULT_FXX_FNX);
        }
        w->out->existence = all_new ? TORC_FIELDS_ALL_NEW : TORC_FIELDS_ALL_THERE;
    }
    return fault_alone(TORC_FAULT_NONE);
}

static struct torc_words_fault take_word(struct walk *w)
{
    struct torc_slice word = w->words[w->at];
    if (torc_word_is(word, "fields")) {
        return take_block(w);
    }
    enum torc_expire_condition condition =
        (w->allowed & TORC_WORDS_CONDITION) != 0 ? condition_of(word) : TORC_EXPIRE_ALWAYS;
    if (condition != TORC_EXPIRE_ALWAYS) {
        bool is_other = w->out->conditions != 0 && w->out->conditions != (unsigned)condition;
        w->out->conditions = condition;
        return fault_alone(is_other ? TORC_FAULT_CONDITIONS : TORC_FAULT_NONE);
    }
    bool is_one;
    struct torc_words_fault fault = take_time_option(w, &is_one);
    if (is_one) {
        return fault;
    }
    fault = take_existence(w, &is_one);
    return is_one ? fault : fault_of(TORC_FAULT_UNKNOWN_ARGUMENT, word);
}

struct torc_words_fault torc_field_words(const struct torc_slice *words, uint32_t n,
                                         unsigned allowed, const char *command, uint64_t now,
                                         struct torc_field_words *out_words)
{
    struct walk w = {.words = words,
                     .n = n,
                     .allowed = allowed,
                     .command = command,
                     .now = now,
                     .out = out_words};
    *out_words = (struct torc_field_words){0};
    for (; w.at < n; w.at++) {
        struct torc_words_fault fault = take_word(&w);
        if (fault.fault != TORC_FAULT_NONE) {
            return fault;
        }
    }
    return fault_alone(out_words->fields != NULL ? TORC_FAULT_NONE : TORC_FAULT_FIELDS_MISSING);
}

enum torc_fault torc_field_block(const struct torc_slice *words, uint32_t n,
                                 struct torc_field_words *out_words)
{
    int64_t count;
    *out_words = (struct torc_field_words){0};
    if (n < 2 || !torc_word_is(words[0], "fields")) {
        return TORC_FAULT_FIELDS_MISPLACED;
    }
    if (!torc_word_integer(words[1], &count) || count < 1) {
        return TORC_FAULT_NUMFIELDS_RANGE;
    }
    if ((uint64_t)count != n - 2) {
        return TORC_FAULT_NUMFIELDS_MISMATCH;
    }
    out_words->fields = words + 2;
    out_words->n_fields = n - 2;
    return TORC_FAULT_NONE;
}

/* --- repeats --- */

/* Is fields[i] in the set, whose slots hold positions + 1? If not it is put in. */
static bool is_in(uint32_t *set, size_t slots, const struct torc_slice *fields, uint32_t i,
                  uint64_t hash)
{
    for (size_t at = hash & (slots - 1);; at = (at + 1) & (slots - 1)) {
        if (set[at] == 0) {
            set[at] = i + 1;
            return false;
        }
        if (torc_slice_equal(fields[set[at] - 1], fields[i])) {
            return true;
        }
    }
}

bool torc_find_repeats(const struct torc_slice *fields, uint32_t n_fields, uint64_t seed,
                       bool *out_is_repeat)
{
    uint32_t small[SMALL_SET] = {0};
    uint32_t *set = small;
    size_t slots = SMALL_SET;
    while (slots / 2 < n_fields) {
        slots *= 2;
    }
    if (slots > SMALL_SET) {
        set = calloc(slots, sizeof *set);
        if (set == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n_fields; i++) {
        out_is_repeat[i] = is_in(set, slots, fields, i, torc_hash_slice(seed, fields[i]));
    }
    if (set != small) {
        free(set);
    }
    return true;
}
