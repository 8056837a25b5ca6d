/* SPDX-License-Identifier: Apache-2.0
 *
 * Each way in which a call fails gives its documented code, and leaves the handle as documented.
 */
#include <sched.h>
#include <stdio.h>

#include "tests/support/client_calls.h"
#include "tests/support/client_fixture.h"

static struct torc_bytes k(void)
{
    return torc_str("k");
}

/* --- error replies --- */

struct error_reply {
    int status, code;
    const char *sent, *text;
};

static const struct error_reply error_replies[] = {
    {TORC_WIRE_WRONG_TYPE, TORC_EWRONGTYPE, "WRONGTYPE as sent", "WRONGTYPE as sent"},
    {TORC_WIRE_WRONG_TYPE, TORC_EWRONGTYPE, "",
     "WRONGTYPE Operation against a key holding the wrong kind of value"},
    {TORC_WIRE_OUT_OF_MEMORY, TORC_EOOM, "",
     "OOM command not allowed when used memory > 'maxmemory'."},
    {TORC_WIRE_TOO_LARGE, TORC_EMSGSIZE, "", "ERR request or reply above the session's limit"},
    {TORC_WIRE_ERROR, TORC_EREPLY, "ERR this and that", "ERR this and that"},
    {TORC_WIRE_ERROR, TORC_EREPLY, "", "ERR error"},
    {TORC_WIRE_UNKNOWN_OP, TORC_EREPLY, "", "ERR unknown operation"},
    {TORC_WIRE_BAD_REQUEST, TORC_EREPLY, "", "ERR malformed request"},
    {TORC_WIRE_SYNTAX, TORC_EREPLY, "", "ERR syntax error"},
    {TORC_WIRE_NOT_INTEGER, TORC_EREPLY, "", "ERR value is not an integer or out of range"},
    {TORC_WIRE_ARITY, TORC_EREPLY, "", "ERR wrong number of arguments"},
    {TORC_WIRE_DB_RANGE, TORC_EREPLY, "", "ERR DB index is out of range"},
    {TORC_WIRE_BAD_CURSOR, TORC_EREPLY, "", "ERR invalid cursor"},
    {TORC_WIRE_SHUTDOWN, TORC_EREPLY, "", "ERR the server is shutting down"},
    {TORC_WIRE_GONE, TORC_EREPLY, "", "ERR the reply is no longer held"},
    {999, TORC_EREPLY, "NEWER a status of tomorrow", "NEWER a status of tomorrow"},
    {999, TORC_EREPLY, "", "ERR error"},
};

static bool answer_error(void *user, const struct torc_request *request,
                         struct torc_reply_writer *w)
{
    (void)request;
    const struct error_reply *reply = user;
    torc_reply_error(w, (enum torc_wire_status)reply->status, reply->sent);
    return true;
}

START_TEST(an_error_reply_becomes_its_code_and_text)
{
    const struct error_reply *reply = &error_replies[_i];
    struct error_reply copy = *reply;
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_error, .user = &copy});
    for (size_t i = 0; i < client_n_calls; i++) {
        assert_error(f.torc, client_calls[i].call(f.torc), reply->code, "");
        ck_assert_str_eq(torc_error_text(f.torc), reply->text);
    }
    /* In a pipeline it is a result. */
    struct torc_result result;
    ck_assert_int_eq(torc_submit_hget(f.torc, 5, k(), torc_str("f")), TORC_OK);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_int_eq(result.kind, TORC_ERROR);
    ck_assert_int_eq(result.error, reply->code);
    assert_bytes(result.string, reply->text);
    torc_fake_server_set(f.server, NULL);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_text_of_any_length_is_cut_to_fit)
{
    char text[3000];
    memset(text, 'e', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct error_reply reply = {TORC_WIRE_ERROR, TORC_EREPLY, text, NULL};
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_error, .user = &reply});
    assert_error(f.torc, torc_ping(f.torc), TORC_EREPLY, "eeee");
    ck_assert_uint_gt(strlen(torc_error_text(f.torc)), 400);
    ck_assert_uint_lt(strlen(torc_error_text(f.torc)), 1000);
    client_fixture_end(&f);
}
END_TEST

/* --- replies that make no sense --- */

/* A good reply of a kind, made bad by `spoil`. */
struct lie {
    const char *name;
    void (*spoil)(struct torc_reply_writer *w);
};

static void spoil_tag(struct torc_reply_writer *w)
{
    w->data[4]++;
}
static void spoil_op(struct torc_reply_writer *w)
{
    w->data[0] = TORC_OP_ECHO;
}
static void spoil_kind(struct torc_reply_writer *w)
{
    w->data[1] = 0xf0;
}
static void spoil_length(struct torc_reply_writer *w)
{
    w->len++;
}
static void spoil_status(struct torc_reply_writer *w)
{
    w->data[2] = 1;
}

static const struct lie lies[] = {
    {"the tag of another request", spoil_tag},
    {"another op", spoil_op},
    {"an unknown kind", spoil_kind},
    {"a byte too many", spoil_length},
    {"a status without an error", spoil_status},
};

struct liar {
    const struct lie *lie;
    bool is_long; /* does not fit a slot */
};

static bool answer_lie(void *user, const struct torc_request *request, struct torc_reply_writer *w)
{
    (void)request;
    const struct liar *liar = user;
    char value[100];
    memset(value, 'v', sizeof value);
    torc_reply_bytes(w, torc_slice_of(value, liar->is_long ? sizeof value : 5));
    liar->lie->spoil(w);
    return true;
}

START_TEST(a_reply_that_makes_no_sense_ends_the_session)
{
    struct liar liar = {.lie = &lies[_i / 2], .is_long = _i % 2 != 0};
    const struct torc_fake_options lying = {.answer = answer_lie, .user = &liar};
    struct client_fixture f = client_fixture_fake(&lying);
    struct torc_result result;
    assert_error(f.torc, client_call(f.torc, "hget"), TORC_EBADMSG, "broke the protocol");
    assert_error(f.torc, client_call(f.torc, "hget"), TORC_EBADMSG, "broke the protocol");
    assert_error(f.torc, torc_submit_hget(f.torc, 0, k(), torc_str("f")), TORC_EBADMSG, "broke");
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_EBADMSG, "broke the protocol");
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 0, k(), torc_str("f")), TORC_OK);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_EBADMSG, "broke the protocol");
    torc_fake_server_set(f.server, NULL);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

/* A late reply is looked at, too. */
START_TEST(a_late_reply_that_makes_no_sense_ends_the_session)
{
    struct liar liar = {.lie = &lies[0]};
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_lie, .user = &liar});
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    assert_error(f.torc, client_call(f.torc, "hget"), TORC_ETIMEDOUT, "1.000 ms");
    torc_fake_server_hold(f.server, false);
    torc_set_deadline(f.torc, 0);
    assert_error(f.torc, torc_ping(f.torc), TORC_EBADMSG, "broke the protocol");
    client_fixture_end(&f);
}
END_TEST

/* Replies of every kind to every call: only its own is taken. */
static bool answer_kind(void *user, const struct torc_request *request, struct torc_reply_writer *w)
{
    (void)request;
    const enum torc_reply_kind *kind = user;
    switch (*kind) {
    case TORC_REPLY_OK:
        torc_reply_ok(w);
        break;
    case TORC_REPLY_ERROR:
        return false;
    case TORC_REPLY_INT:
        torc_reply_int(w, 1);
        break;
    case TORC_REPLY_BYTES:
        torc_reply_bytes(w, torc_slice_str("v"));
        break;
    case TORC_REPLY_NULL:
        torc_reply_null(w);
        break;
    case TORC_REPLY_ARRAY:
    case TORC_REPLY_PAIRS:
    case TORC_REPLY_CURSOR:
        torc_reply_array_begin(w, *kind, 0, 2);
        torc_reply_item(w, torc_slice_str("a"));
        torc_reply_item(w, torc_slice_str("b"));
        break;
    case TORC_REPLY_TEXT:
        torc_reply_text(w, torc_slice_str("t"));
        break;
    case TORC_REPLY_LONG:
        torc_reply_long(w, 5, 1, torc_slice_str("short")); /* no longer than it is here */
        break;
    case TORC_REPLY_PART:
        torc_reply_part(w, 0, torc_slice_str("part"));
        break;
    }
    return true;
}

START_TEST(a_reply_of_another_kind_than_the_call_has_ends_the_session)
{
    enum torc_reply_kind kind = (enum torc_reply_kind)_i;
    if (kind == TORC_REPLY_ERROR) {
        return;
    }
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_kind, .user = &kind});
    for (size_t i = 0; i < client_n_calls; i++) {
        bool is_any = strcmp(client_calls[i].name, "command") == 0 && kind < TORC_REPLY_LONG;
        bool has_nil = strcmp(client_calls[i].name, "hget") == 0 ||
                       strcmp(client_calls[i].name, "randomkey") == 0;
        bool is_nil = has_nil && kind == TORC_REPLY_NULL;
        int64_t rc = client_calls[i].call(f.torc);
        if (kind == client_calls[i].kind || is_any || is_nil) {
            ck_assert_msg(rc >= 0, "%s, kind %d: %s", client_calls[i].name, kind,
                          torc_error_text(f.torc));
        } else {
            ck_assert_msg(rc == TORC_EBADMSG, "%s, kind %d: %d", client_calls[i].name, kind,
                          (int)rc);
            ck_assert_int_eq(torc_ping(f.torc), TORC_EBADMSG);
            ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
        }
    }
    client_fixture_end(&f);
}
END_TEST

static bool answer_number(void *user, const struct torc_request *request,
                          struct torc_reply_writer *w)
{
    (void)request;
    torc_reply_int(w, *(const int64_t *)user);
    return true;
}

START_TEST(a_count_that_cannot_be_is_none)
{
    int64_t minus_one = -1;
    int64_t two = 2;
    struct torc_fake_options options = {.answer = answer_number, .user = &minus_one};
    struct client_fixture f = client_fixture_fake(&options);
    assert_error(f.torc, client_call(f.torc, "hlen"), TORC_EBADMSG, "broke");
    options.user = &two;
    torc_fake_server_set(f.server, &options);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    assert_error(f.torc, client_call(f.torc, "hset"), TORC_EBADMSG, "broke");
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    assert_error(f.torc, client_call(f.torc, "hexists"), TORC_EBADMSG, "broke");
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(client_call(f.torc, "hlen"), 2);
    client_fixture_end(&f);
}
END_TEST

START_TEST(as_many_values_as_fields_or_none)
{
    enum torc_reply_kind kind = TORC_REPLY_ARRAY; /* of two */
    struct client_fixture f =
        client_fixture_fake(&(struct torc_fake_options){.answer = answer_kind, .user = &kind});
    const struct torc_bytes fields[] = {torc_str("a"), torc_str("b"), torc_str("c")};
    struct torc_bytes values[3];
    ck_assert_int_eq(torc_hmget(f.torc, k(), fields, 2, values), 2);
    assert_error(f.torc, torc_hmget(f.torc, k(), fields, 3, values), TORC_EBADMSG, "broke");
    client_fixture_end(&f);
}
END_TEST

/* --- the caller's mistakes --- */

START_TEST(mistakes_of_the_caller_are_refused_and_harmless)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc *t = f.torc;
    const struct torc_bytes bad = {NULL, 3};
    const struct torc_bytes good = torc_str("x");
    const struct torc_bytes half_bad[] = {good, bad};
    struct torc_bytes values[2];
    struct torc_result result;
    const struct {
        const char *what;
        int64_t rc;
    } mistakes[] = {
        {"key", torc_hget(t, bad, good, values)},
        {"field", torc_hget(t, good, bad, values)},
        {"value", torc_hset(t, good, good, bad)},
        {"key of many", torc_hset_many(t, bad, half_bad, 1)},
        {"pair", torc_hset_many(t, good, half_bad, 1)},
        {"no pairs", torc_hset_many(t, good, half_bad, 0)},
        {"pairs NULL", torc_hset_many(t, good, NULL, 1)},
        {"fields", torc_hmget(t, good, half_bad, 2, values)},
        {"no fields", torc_hmget(t, good, half_bad, 0, values)},
        {"fields NULL", torc_hdel(t, good, NULL, 2)},
        {"keys", torc_del(t, half_bad, 2)},
        {"no keys", torc_exists(t, half_bad, 0)},
        {"key of all", torc_hgetall(t, bad, &result)},
        {"pattern", torc_scan(t, 0, bad, 0, &result)},
        {"word", torc_command(t, half_bad, 2, &result)},
        {"no words", torc_command(t, half_bad, 0, &result)},
        {"words NULL", torc_command(t, NULL, 2, &result)},
        {"submitted key", torc_submit_hget(t, 0, bad, good)},
        {"submitted pairs", torc_submit_hset(t, 0, good, half_bad, 1)},
        {"submitted fields", torc_submit_hmget(t, 0, good, NULL, 1)},
        {"submitted nothing", torc_submit_hdel(t, 0, good, &good, 0)},
        {"submitted words", torc_submit_command(t, 0, half_bad, 2)},
    };
    for (size_t i = 0; i < N_OF(mistakes); i++) {
        ck_assert_msg(mistakes[i].rc == TORC_EINVAL, "%s: %d", mistakes[i].what,
                      (int)mistakes[i].rc);
    }
    ck_assert_uint_eq(torc_outstanding(t), 0);
    ck_assert_uint_eq(torc_fake_server_answered(f.server), 0);
    ck_assert_int_eq(torc_ping(t), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(what_no_session_takes_is_too_long)
{
    struct client_fixture f = client_fixture_fake(NULL);
    size_t len = 2 << 20; /* the server takes 1 MiB */
    char *value = malloc(len);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', len);
    assert_error(f.torc, torc_hset(f.torc, k(), torc_str("f"), torc_mem(value, len)), TORC_EMSGSIZE,
                 "above the session's cap");
    assert_error(f.torc, torc_submit_hget(f.torc, 0, torc_mem(value, len), torc_str("f")),
                 TORC_EMSGSIZE, "above the session's cap");
    /* Lengths that no message can have: nothing is read. */
    struct torc_bytes values[1];
    const struct torc_bytes huge = torc_mem(value, SIZE_MAX);
    assert_error(f.torc, torc_hget(f.torc, huge, torc_str("f"), values), TORC_EMSGSIZE, "above");
    assert_error(f.torc, torc_hset_many(f.torc, k(), values, SIZE_MAX / 2), TORC_EMSGSIZE, "above");
    assert_error(f.torc, torc_hmget(f.torc, k(), values, SIZE_MAX, values), TORC_EMSGSIZE, "above");
    assert_error(f.torc, torc_del(f.torc, values, SIZE_MAX / 3), TORC_EMSGSIZE, "above");

    /* A reply above the cap: fields that fit one by one. */
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        ck_assert_int_eq(torc_hset(f.torc, k(), torc_str(name), torc_mem(value, 500000)), 1);
    }
    struct torc_result result;
    assert_error(f.torc, torc_hgetall(f.torc, k(), &result), TORC_EMSGSIZE, "too large");
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    free(value);
    client_fixture_end(&f);
}
END_TEST

/* --- time --- */

START_TEST(a_call_that_times_out_leaves_the_handle_usable)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_bytes value;
    ck_assert_int_eq(torc_hset(f.torc, k(), torc_str("f"), torc_str("old")), 1);
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    assert_error(f.torc, torc_hset(f.torc, k(), torc_str("f"), torc_str("new")), TORC_ETIMEDOUT,
                 "unknown outcome");
    assert_error(f.torc, torc_hget(f.torc, k(), torc_str("f"), &value), TORC_ETIMEDOUT, "1.000 ms");
    ck_assert_uint_eq(torc_outstanding(f.torc), 0);
    torc_fake_server_hold(f.server, false);
    torc_set_deadline(f.torc, 0);
    /* The late replies are not taken for this one's. */
    ck_assert_int_eq(torc_hlen(f.torc, k()), 1);
    ck_assert_int_eq(torc_hget(f.torc, k(), torc_str("f"), &value), 1);
    assert_bytes(value, "new");
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_pipeline_goes_on_behind_late_replies)
{
    struct client_fixture f = client_fixture_fake(NULL);
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    assert_error(f.torc, client_call(f.torc, "hset"), TORC_ETIMEDOUT, "");
    assert_error(f.torc, client_call(f.torc, "hlen"), TORC_ETIMEDOUT, "");
    ck_assert_int_eq(torc_submit_hget(f.torc, 41, k(), torc_str("f")), TORC_OK);
    ck_assert_int_eq(torc_submit_hget(f.torc, 42, k(), torc_str("g")), TORC_OK);
    ck_assert_uint_eq(torc_outstanding(f.torc), 2);
    struct torc_result result;
    assert_error(f.torc, torc_try_collect(f.torc, &result), TORC_EAGAIN, "not there yet");
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ETIMEDOUT, "");
    ck_assert_uint_eq(torc_outstanding(f.torc), 2); /* a result that is late stays */
    torc_fake_server_hold(f.server, false);
    torc_set_deadline(f.torc, 0);
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 41);
    assert_bytes(result.string, "v");
    ck_assert_int_eq(torc_collect(f.torc, &result), TORC_OK);
    ck_assert_uint_eq(result.tag, 42);
    ck_assert_int_eq(result.kind, TORC_NIL);
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_ENOENT, "nothing is outstanding");
    client_fixture_end(&f);
}
END_TEST

START_TEST(as_many_late_replies_as_slots_are_enough)
{
    struct client_fixture f = client_fixture_fake(&(struct torc_fake_options){.slots = 4});
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    for (int i = 0; i < 4; i++) {
        assert_error(f.torc, torc_ping(f.torc), TORC_ETIMEDOUT, "1.000 ms");
    }
    assert_error(f.torc, torc_ping(f.torc), TORC_EAGAIN, "timed out");
    assert_error(f.torc, torc_submit_hget(f.torc, 0, k(), torc_str("f")), TORC_EAGAIN, "timed out");
    torc_fake_server_hold(f.server, false);
    torc_set_deadline(f.torc, 0);
    while (torc_fake_server_answered(f.server) < 4) {
        (void)sched_yield();
    }
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    }
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_long_request_that_times_out_is_finished_later)
{
    struct client_fixture f = client_fixture_fake(NULL);
    size_t len = 100000;
    char *text = malloc(len + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'l', len);
    text[len] = '\0';
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    assert_error(f.torc, torc_hset(f.torc, k(), torc_str("f"), torc_str(text)), TORC_ETIMEDOUT,
                 "unknown outcome");
    /* Not another long one before the first is through. */
    assert_error(f.torc, torc_hset(f.torc, k(), torc_str("f"), torc_str(text)), TORC_EAGAIN,
                 "timed out");
    torc_fake_server_hold(f.server, false);
    torc_set_deadline(f.torc, 0);
    struct torc_bytes value;
    ck_assert_int_eq(torc_hget(f.torc, k(), torc_str("f"), &value), 1);
    assert_bytes(value, text);
    free(text);
    client_fixture_end(&f);
}
END_TEST

START_TEST(death_behind_late_replies_is_death)
{
    struct client_fixture f = client_fixture_fake(NULL);
    torc_fake_server_hold(f.server, true);
    torc_set_deadline(f.torc, 1000000);
    assert_error(f.torc, torc_ping(f.torc), TORC_ETIMEDOUT, "");
    torc_set_deadline(f.torc, 0);
    torc_fake_server_kill(f.server);
    assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "gone");
    assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "gone");
    torc_fake_server_hold(f.server, false);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("errors");
    TCase *tcase = tcase_create("errors");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, an_error_reply_becomes_its_code_and_text, 0,
                        (int)N_OF(error_replies));
    tcase_add_test(tcase, a_text_of_any_length_is_cut_to_fit);
    tcase_add_loop_test(tcase, a_reply_that_makes_no_sense_ends_the_session, 0,
                        2 * (int)N_OF(lies));
    tcase_add_test(tcase, a_late_reply_that_makes_no_sense_ends_the_session);
    tcase_add_loop_test(tcase, a_reply_of_another_kind_than_the_call_has_ends_the_session, 0,
                        TORC_REPLY_PART + 1);
    tcase_add_test(tcase, a_count_that_cannot_be_is_none);
    tcase_add_test(tcase, as_many_values_as_fields_or_none);
    tcase_add_test(tcase, mistakes_of_the_caller_are_refused_and_harmless);
    tcase_add_test(tcase, what_no_session_takes_is_too_long);
    tcase_add_test(tcase, a_call_that_times_out_leaves_the_handle_usable);
    tcase_add_test(tcase, a_pipeline_goes_on_behind_late_replies);
    tcase_add_test(tcase, as_many_late_replies_as_slots_are_enough);
    tcase_add_test(tcase, a_long_request_that_times_out_is_finished_later);
    tcase_add_test(tcase, death_behind_late_replies_is_death);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
