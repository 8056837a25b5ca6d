/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a handle: attaching and what it is refused for, attaching again.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/support/client_fixture.h"

/* --- attaching --- */

struct refusal {
    const char *name;
    struct torc_fake_options server;
    struct torc_options client; /* its socket is the server's */
    int code;
    const char *text; /* part of it */
};

static const struct refusal refusals[] = {
    {"a quota",
     {.attach = TORC_FAKE_REFUSE, .refuse_error = -ENOSPC, .refuse_text = "too many sessions"},
     {0},
     TORC_ENOSPC,
     "too many sessions"},
    {"a version",
     {.attach = TORC_FAKE_REFUSE, .refuse_error = -EPROTO, .refuse_text = "speaks 2"},
     {0},
     TORC_EPROTO,
     "speaks 2"},
    {"no memory there",
     {.attach = TORC_FAKE_REFUSE, .refuse_error = -ENOMEM, .refuse_text = "no memory"},
     {0},
     TORC_ENOMEM,
     "no memory"},
    {"a wish",
     {.attach = TORC_FAKE_REFUSE, .refuse_error = -EINVAL, .refuse_text = "no database 99"},
     {.database = 99},
     TORC_EINVAL,
     "no database 99"},
    {"a malformed hello",
     {.attach = TORC_FAKE_REFUSE, .refuse_error = -EBADMSG, .refuse_text = "what?"},
     {0},
     TORC_EBADMSG,
     "what?"},
    {"after mapping",
     {.attach = TORC_FAKE_REFUSE_MAPPED, .refuse_error = -ENOMEM, .refuse_text = "cannot seal"},
     {0},
     TORC_ENOMEM,
     "cannot seal"},
    {"a server that hangs up", {.attach = TORC_FAKE_HANG_UP}, {0}, TORC_EPIPE, "closed"},
    {"a server that says nothing", {.attach = TORC_FAKE_SILENT}, {0}, TORC_ETIMEDOUT, "in time"},
    {"a server that babbles", {.attach = TORC_FAKE_BABBLE}, {0}, TORC_EBADMSG, ""},
    {"a version that nobody asked for", {.attach = TORC_FAKE_NEXT_VERSION}, {0}, TORC_EPROTO, ""},
    {"memory of another run", {.attach = TORC_FAKE_OTHER_EPOCH}, {0}, TORC_EBADMSG, "another run"},
    {"two welcomes", {.attach = TORC_FAKE_TWO_WELCOMES}, {0}, TORC_EBADMSG, "twice"},
    {"slots that are no power of two", {0}, {.slots = 3}, TORC_EINVAL, "slots"},
    {"an area that is too small", {0}, {.reply_area_bytes = 64}, TORC_EINVAL, "area"},
    {"a name that is too long",
     {0},
     {.name = "1234567890123456789012345678901234567890123456789012345678901234"},
     TORC_EINVAL,
     "name"},
    {"a name with a line end", {0}, {.name = "a b\n"}, TORC_EINVAL, "printable"},
    {"a name with a letter of Latin-1", {0}, {.name = "caf\xe9"}, TORC_EINVAL, "printable"},
    {"an unknown way to wait", {0}, {.spin = (enum torc_spin)3}, TORC_EINVAL, "spin"},
    {"a reserved member", {0}, {.reserved = {0, 0, 0, 1}}, TORC_EINVAL, "reserved"},
    {"a reserved word", {0}, {.reserved_word = 1}, TORC_EINVAL, "reserved"},
};

START_TEST(a_refused_attach_says_why)
{
    const struct refusal *r = &refusals[_i];
    struct torc_fake_server *server = torc_fake_server_start(&r->server);
    struct torc_options options = r->client;
    options.socket = torc_fake_server_path(server);
    struct torc *torc = (struct torc *)&options; /* to see that it is left alone */
    const char *why = NULL;
    int rc = torc_open(&options, &torc, &why);
    ck_assert_msg(rc == r->code, "%s: %s", r->name, torc_error_name(rc));
    ck_assert_ptr_nonnull(why);
    ck_assert_msg(strstr(why, r->text) != NULL, "%s: %s", r->name, why);
    ck_assert_ptr_eq(torc, (struct torc *)&options);
    torc_fake_server_stop(server);
}
END_TEST

START_TEST(where_nobody_listens_there_is_no_server)
{
    const struct torc_options options = {.socket = "/tmp/torc-test-nobody/torc.sock"};
    struct torc *torc;
    const char *why;
    ck_assert_int_eq(torc_open(&options, &torc, &why), TORC_ENOENT);
    ck_assert_str_eq(why, "cannot attach to /tmp/torc-test-nobody/torc.sock: nobody listens there");
    ck_assert_int_eq(torc_open(&options, &torc, NULL), TORC_ENOENT);
    ck_assert_int_eq(torc_open(&options, NULL, &why), TORC_EINVAL);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
    char path[300];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct torc *torc;
    const char *why;
    ck_assert_int_eq(torc_open(&(struct torc_options){.socket = path}, &torc, &why), TORC_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "too long"));
}
END_TEST

START_TEST(options_reach_the_server)
{
    struct torc_fake_server *server = torc_fake_server_start(NULL);
    struct torc_options options = {.socket = torc_fake_server_path(server),
                                   .name = "prices",
                                   .slots = 64,
                                   .request_area_bytes = 8192,
                                   .reply_area_bytes = 16384,
                                   .database = 5,
                                   .spin = TORC_SPIN_YIELD};
    struct torc *torc;
    ck_assert_int_eq(torc_open(&options, &torc, NULL), TORC_OK);
    struct torc_hello hello = torc_fake_server_hello(server);
    ck_assert_str_eq(hello.name, "prices");
    ck_assert_uint_eq(hello.database, 5);
    ck_assert_uint_eq(hello.request_area_bytes, 8192);
    ck_assert_uint_eq(hello.reply_area_bytes, 16384);
    ck_assert_uint_eq(torc_slots(torc), 64);
    ck_assert_int_eq(torc_ping(torc), TORC_OK);
    torc_close(torc);
    torc_fake_server_stop(server);
}
END_TEST

START_TEST(every_way_to_wait_gets_its_reply)
{
    struct torc_fake_server *server = torc_fake_server_start(NULL);
    for (unsigned spin = TORC_SPIN_ADAPTIVE; spin <= TORC_SPIN_YIELD; spin++) {
        struct torc_options options = {.socket = torc_fake_server_path(server),
                                       .spin_ns = 1,
                                       .deadline_ns = UINT64_MAX,
                                       .spin = (enum torc_spin)spin};
        struct torc *torc;
        ck_assert_int_eq(torc_open(&options, &torc, NULL), TORC_OK);
        for (int i = 0; i < 100; i++) {
            ck_assert_int_eq(torc_ping(torc), TORC_OK);
        }
        torc_close(torc);
    }
    torc_fake_server_stop(server);
}
END_TEST

START_TEST(the_environment_says_where_the_server_is)
{
    struct torc_fake_server *server = torc_fake_server_start(NULL);
    struct torc *torc;
    ck_assert_int_eq(setenv("TORC_SOCKET", torc_fake_server_path(server), 1), 0);
    ck_assert_int_eq(torc_open(NULL, &torc, NULL), TORC_OK);
    ck_assert_int_eq(torc_ping(torc), TORC_OK);
    torc_close(torc);

    /* Named by the caller, the environment does not count. */
    ck_assert_int_eq(torc_open(&(struct torc_options){.socket = "/nowhere"}, &torc, NULL),
                     TORC_ENOENT);

    /* The user's own server, unless there is one of the system. */
    ck_assert_int_eq(unsetenv("TORC_SOCKET"), 0);
    char folder[128];
    (void)snprintf(folder, sizeof folder, "%s", torc_fake_server_path(server));
    *strrchr(folder, '/') = '\0';
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    if (access("/run/torc/torc.sock", F_OK) != 0) {
        ck_assert_int_eq(torc_open(&(struct torc_options){.name = "mine"}, &torc, NULL), TORC_OK);
        ck_assert_str_eq(torc_fake_server_hello(server).name, "mine");
        torc_close(torc);
        const char *why;
        ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/nowhere", 1), 0);
        ck_assert_int_eq(torc_open(NULL, &torc, &why), TORC_ENOENT);
        ck_assert_ptr_nonnull(strstr(why, "/run/torc/torc.sock"));
    }
    ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
    torc_fake_server_stop(server);
}
END_TEST

/* --- death, and attaching again --- */

START_TEST(a_dead_server_is_noticed_and_attached_again)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_bytes value;
    ck_assert_int_eq(torc_hset(f.torc, torc_str("k"), torc_str("f"), torc_str("v")), 1);
    uint64_t epoch = torc_epoch(f.torc);
    torc_fake_server_kill(f.server);
    assert_error(f.torc, torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), TORC_EPIPE,
                 "gone");
    assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "gone");
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_uint_ne(torc_epoch(f.torc), epoch);
    ck_assert_int_eq(torc_hget(f.torc, torc_str("k"), torc_str("f"), &value), 1);
    assert_bytes(value, "v");
    client_fixture_end(&f);
}
END_TEST

START_TEST(death_while_a_call_waits_ends_the_call)
{
    struct client_fixture f = client_fixture_fake(&(struct torc_fake_options){
        .dies_at_request = true,
    });
    assert_error(f.torc, torc_hset(f.torc, torc_str("k"), torc_str("f"), torc_str("v")), TORC_EPIPE,
                 "unknown outcome");
    client_fixture_end(&f);
}
END_TEST

START_TEST(a_handle_without_a_session_tries_again)
{
    struct client_fixture f = client_fixture_fake(NULL);
    torc_fake_server_set(f.server, &(struct torc_fake_options){.attach = TORC_FAKE_REFUSE,
                                                               .refuse_error = -ENOSPC,
                                                               .refuse_text = "not now"});
    assert_error(f.torc, torc_reattach(f.torc), TORC_ENOSPC, "not now");
    ck_assert_uint_eq(torc_epoch(f.torc), 0);
    ck_assert_uint_eq(torc_slots(f.torc), 0);
    ck_assert_uint_eq(torc_outstanding(f.torc), 0);
    struct torc_result result;
    assert_error(f.torc, torc_ping(f.torc), TORC_EPIPE, "torc_reattach");
    assert_error(f.torc, torc_collect(f.torc, &result), TORC_EPIPE, "torc_reattach");
    torc_fake_server_set(f.server, NULL);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

START_TEST(attaching_again_forgets_what_is_outstanding)
{
    struct client_fixture f = client_fixture_fake(NULL);
    ck_assert_int_eq(torc_submit_hget(f.torc, 1, torc_str("k"), torc_str("f")), TORC_OK);
    ck_assert_uint_eq(torc_outstanding(f.torc), 1);
    ck_assert_int_eq(torc_reattach(f.torc), TORC_OK);
    ck_assert_uint_eq(torc_outstanding(f.torc), 0);
    ck_assert_int_eq(torc_ping(f.torc), TORC_OK);
    client_fixture_end(&f);
}
END_TEST

/* --- codes --- */

START_TEST(codes_have_names_and_fixed_numbers)
{
    static const struct {
        int code, number;
        const char *name;
    } codes[] = {
        {TORC_OK, 0, "TORC_OK"},
        {TORC_EINVAL, -1, "TORC_EINVAL"},
        {TORC_ENOMEM, -2, "TORC_ENOMEM"},
        {TORC_ENOENT, -3, "TORC_ENOENT"},
        {TORC_EPIPE, -4, "TORC_EPIPE"},
        {TORC_EPROTO, -5, "TORC_EPROTO"},
        {TORC_ETIMEDOUT, -6, "TORC_ETIMEDOUT"},
        {TORC_EAGAIN, -7, "TORC_EAGAIN"},
        {TORC_EMSGSIZE, -8, "TORC_EMSGSIZE"},
        {TORC_EBADMSG, -9, "TORC_EBADMSG"},
        {TORC_EWRONGTYPE, -10, "TORC_EWRONGTYPE"},
        {TORC_EOOM, -11, "TORC_EOOM"},
        {TORC_EREPLY, -12, "TORC_EREPLY"},
        {TORC_ENOSPC, -13, "TORC_ENOSPC"},
    };
    for (size_t i = 0; i < N_OF(codes); i++) {
        ck_assert_int_eq(codes[i].code, codes[i].number);
        ck_assert_str_eq(torc_error_name(codes[i].code), codes[i].name);
    }
    ck_assert_str_eq(torc_error_name(17), "TORC_OK");
    ck_assert_str_eq(torc_error_name(-14), "unknown error");
    ck_assert_str_eq(torc_error_name(INT32_MIN), "unknown error");
    ck_assert_str_eq(torc_version(), TORC_VERSION);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torc");
    TCase *attaching = tcase_create("attaching");
    tcase_set_timeout(attaching, 60);
    tcase_add_loop_test(attaching, a_refused_attach_says_why, 0, (int)N_OF(refusals));
    tcase_add_test(attaching, where_nobody_listens_there_is_no_server);
    tcase_add_test(attaching, a_path_that_is_too_long_is_refused);
    tcase_add_test(attaching, options_reach_the_server);
    tcase_add_test(attaching, every_way_to_wait_gets_its_reply);
    tcase_add_test(attaching, the_environment_says_where_the_server_is);
    suite_add_tcase(suite, attaching);
    TCase *again = tcase_create("again");
    tcase_set_timeout(again, 60);
    tcase_add_test(again, a_dead_server_is_noticed_and_attached_again);
    tcase_add_test(again, death_while_a_call_waits_ends_the_call);
    tcase_add_test(again, a_handle_without_a_session_tries_again);
    tcase_add_test(again, attaching_again_forgets_what_is_outstanding);
    suite_add_tcase(suite, again);
    TCase *codes = tcase_create("codes");
    tcase_add_test(codes, codes_have_names_and_fixed_numbers);
    suite_add_tcase(suite, codes);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
