/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of errors: for each function the codes that torc.h names, each of them produced. The
 * last test reads the header and compares, so that neither can have a code that the other lacks.
 */
#include <pthread.h>
#include <stdio.h>

#include "tests/support/client_calls.h"
#include "tests/support/client_fixture.h"
#include "tests/support/failing_heap.h"

/* --- the functions that are no synchronous calls --- */

/* The key of what is submitted. */
static struct torc_bytes key;

static int64_t submit_hget(struct torc *torc)
{
    return torc_submit_hget(torc, 1, key, torc_str("f"));
}
static int64_t submit_hset(struct torc *torc)
{
    const struct torc_bytes pair[] = {torc_str("f"), torc_str("v")};
    return torc_submit_hset(torc, 1, key, pair, 1);
}
static int64_t submit_hmget(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    return torc_submit_hmget(torc, 1, key, &field, 1);
}
static int64_t submit_hdel(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    return torc_submit_hdel(torc, 1, key, &field, 1);
}
static int64_t submit_expire(struct torc *torc)
{
    return torc_submit_expire(torc, 1, key, 1000, 0);
}
static int64_t submit_hexpire(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    return torc_submit_hexpire(torc, 1, key, &field, 1, 1000, 0);
}
static int64_t submit_hsetex(struct torc *torc)
{
    const struct torc_bytes pair[] = {torc_str("f"), torc_str("v")};
    return torc_submit_hsetex(torc, 1, key, pair, 1, 1000, TORC_FLAG_PX);
}
static int64_t submit_hgetex(struct torc *torc)
{
    const struct torc_bytes field = torc_str("f");
    return torc_submit_hgetex(torc, 1, key, &field, 1, 0, 0);
}
static int64_t submit_command(struct torc *torc)
{
    const struct torc_bytes words[] = {torc_str("HLEN"), key};
    return torc_submit_command(torc, 1, words, 2);
}
static int64_t collect(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int rc = torc_collect(torc, &result);
    return rc < 0 && result.tag != 77 ? 1000 : rc;
}
static int64_t try_collect(struct torc *torc)
{
    struct torc_result result = {.tag = 77};
    int rc = torc_try_collect(torc, &result);
    return rc < 0 && result.tag != 77 ? 1000 : rc;
}

/* Values and results that were read by the functions below. */
static struct torc_bytes value;
static struct torc_result result;
static struct torc_loan loan;

static int64_t borrow(struct torc *torc)
{
    return torc_borrow(torc, &result, &loan);
}
static int64_t borrow_values(struct torc *torc)
{
    return torc_borrow_values(torc, &value, 1, &loan);
}
static int64_t release(struct torc *torc)
{
    return torc_release(torc, loan);
}
static int64_t reattach(struct torc *torc)
{
    return torc_reattach(torc);
}

/* --- the table --- */

enum way { SUBMIT, COLLECT, BORROW, ATTACH };

#define SUBMITS                                                                                    \
    (CODE(TORC_EINVAL) | CODE(TORC_ENOMEM) | CODE(TORC_EPIPE) | CODE(TORC_EAGAIN) |                \
     CODE(TORC_EMSGSIZE) | CODE(TORC_EBADMSG) | CODE(TORC_ETIMEDOUT))
#define COLLECTS                                                                                   \
    (CODE(TORC_ENOENT) | CODE(TORC_EPIPE) | CODE(TORC_EBADMSG) | CODE(TORC_ENOMEM) |               \
     CODE(TORC_EINVAL))
#define BORROWS (CODE(TORC_EINVAL) | CODE(TORC_ENOSPC) | CODE(TORC_ENOMEM))
#define ATTACHES                                                                                   \
    (CODE(TORC_EINVAL) | CODE(TORC_ENOMEM) | CODE(TORC_ENOENT) | CODE(TORC_EPROTO) |               \
     CODE(TORC_EPIPE) | CODE(TORC_ENOSPC) | CODE(TORC_EBADMSG) | CODE(TORC_ETIMEDOUT))

static const struct function {
    const char *name;
    int64_t (*call)(struct torc *torc);
    enum way way;
    uint32_t codes;
} functions[] = {
    {"submit_hget", submit_hget, SUBMIT, SUBMITS & ~CODE(TORC_ENOMEM)},
    {"submit_hset", submit_hset, SUBMIT, SUBMITS},
    {"submit_hmget", submit_hmget, SUBMIT, SUBMITS},
    {"submit_hdel", submit_hdel, SUBMIT, SUBMITS},
    {"submit_expire", submit_expire, SUBMIT, SUBMITS},
    {"submit_hexpire", submit_hexpire, SUBMIT, SUBMITS},
    {"submit_hsetex", submit_hsetex, SUBMIT, SUBMITS},
    {"submit_hgetex", submit_hgetex, SUBMIT, SUBMITS},
    {"submit_command", submit_command, SUBMIT, SUBMITS},
    {"collect", collect, COLLECT, COLLECTS | CODE(TORC_ETIMEDOUT)},
    {"try_collect", try_collect, COLLECT, COLLECTS | CODE(TORC_EAGAIN)},
    {"borrow", borrow, BORROW, BORROWS},
    {"borrow_values", borrow_values, BORROW, BORROWS},
    {"release", release, BORROW, CODE(TORC_EINVAL)},
    {"open", NULL, ATTACH, ATTACHES},
    {"reattach", reattach, ATTACH, ATTACHES},
};

/* --- servers that make it happen --- */

static bool answer_status(void *user, const struct torc_request *request,
                          struct torc_reply_writer *w)
{
    (void)request;
    torc_reply_error(w, *(const enum torc_wire_status *)user, "");
    return true;
}

static bool answer_with_another_tag(void *user, const struct torc_request *request,
                                    struct torc_reply_writer *w)
{
    (void)user;
    (void)request;
    torc_reply_ok(w);
    w->data[4]++;
    return true;
}

/* An answer that is pulled in parts, into memory. */
static bool answer_at_length(void *user, const struct torc_request *request,
                             struct torc_reply_writer *w)
{
    (void)user;
    (void)request;
    static char text[2000];
    memset(text, 'x', sizeof text - 1);
    torc_reply_error(w, TORC_WIRE_ERROR, text);
    return true;
}

static enum torc_wire_status status_of(int code)
{
    switch (code) {
    case TORC_EMSGSIZE:
        return TORC_WIRE_TOO_LARGE;
    case TORC_EWRONGTYPE:
        return TORC_WIRE_WRONG_TYPE;
    case TORC_EOOM:
        return TORC_WIRE_OUT_OF_MEMORY;
    case TORC_EREPLY:
        return TORC_WIRE_ERROR;
    default:
        ck_abort_msg("no status for %s", torc_error_name(code));
    }
}

static struct torc_fake_options with_answer(torc_fake_answer *answer)
{
    return (struct torc_fake_options){.answer = answer, .slots = 2};
}

/* The server takes nothing, and calls do not wait long for it. */
static void stall(struct client_fixture *f)
{
    torc_fake_server_hold(f->server, true);
    torc_set_deadline(f->torc, 1000000);
}

static void expect(struct client_fixture *f, const char *name, int64_t rc, int code)
{
    ck_assert_msg(rc == code, "torc_%s(): %s instead of %s (%s)", name, torc_error_name((int)rc),
                  torc_error_name(code), torc_error_text(f->torc));
    ck_assert_msg(torc_error_text(f->torc)[0] != '\0', "torc_%s(): %s without a text", name,
                  torc_error_name(code));
}

/* --- each way --- */

static void produce_in_call(const struct client_call *c, int code)
{
    enum torc_wire_status status = TORC_WIRE_ERROR;
    struct torc_fake_options options = with_answer(NULL);
    if (code == TORC_EBADMSG) {
        options = with_answer(answer_with_another_tag);
    } else if (code == TORC_ENOMEM) {
        options = with_answer(answer_at_length);
    } else if (code == TORC_EMSGSIZE || code <= TORC_EWRONGTYPE) {
        status = status_of(code);
        options = with_answer(answer_status);
        options.user = &status;
    }
    struct client_fixture f = client_fixture_fake(&options);
    if (code == TORC_EINVAL) {
        ck_assert_int_eq(submit_hget(f.torc), TORC_OK);
    } else if (code == TORC_EPIPE) {
        torc_fake_server_kill(f.server);
    } else if (code == TORC_ETIMEDOUT) {
        stall(&f);
    } else if (code == TORC_EAGAIN) {
        stall(&f);
        ck_assert_int_eq(torc_ping(f.torc), TORC_ETIMEDOUT);
        ck_assert_int_eq(torc_ping(f.torc), TORC_ETIMEDOUT);
    }
    torc_heap_fail_at(code == TORC_ENOMEM);
    int64_t rc = c->call(f.torc);
    torc_heap_fail_at(0);
    expect(&f, c->name, rc, code);
    torc_fake_server_hold(f.server, false);
    client_fixture_end(&f);
}

static void produce_in_submit(const struct function *function, int code)
{
    static char bytes[2 << 20]; /* more than a session takes */
    struct torc_fake_options options =
        with_answer(code == TORC_EBADMSG ? answer_with_another_tag : NULL);
    struct client_fixture f = client_fixture_fake(&options);
    if (code == TORC_EINVAL) {
        key = (struct torc_bytes){NULL, 3};
    } else if (code == TORC_EMSGSIZE) {
        key = torc_mem(bytes, sizeof bytes);
    } else if (code == TORC_ETIMEDOUT) {
        stall(&f);
        key = torc_mem(bytes, 100000); /* pushed in parts */
    } else if (code == TORC_EPIPE) {
        torc_fake_server_kill(f.server);
        ck_assert_int_eq(torc_ping(f.torc), TORC_EPIPE);
    } else if (code == TORC_EBADMSG) {
        ck_assert_int_eq(torc_ping(f.torc), TORC_EBADMSG);
    } else if (code == TORC_EAGAIN) {
        stall(&f);
        ck_assert_int_eq(submit_hget(f.torc), TORC_OK);
        ck_assert_int_eq(submit_hget(f.torc), TORC_OK);
    }
    torc_heap_fail_at(code == TORC_ENOMEM);
    int64_t rc = function->call(f.torc);
    torc_heap_fail_at(0);
    expect(&f, function->name, rc, code);
    ck_assert_uint_eq(torc_outstanding(f.torc), code == TORC_EAGAIN ? 2 : 0);
    torc_fake_server_hold(f.server, false);
    client_fixture_end(&f);
}

struct asked {
    const struct function *function;
    struct torc *torc;
    int64_t rc;
};
static void *ask(void *argument)
{
    struct asked *asked = argument;
    asked->rc = asked->function->call(asked->torc);
    return NULL;
}

/* What another thread gets: an error without a text, which is the owner's. */
static void expect_refused_elsewhere(struct client_fixture *f, const struct function *function)
{
    struct asked asked = {function, f->torc, 0};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, ask, &asked), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(asked.rc, TORC_EINVAL);
}

static void produce_in_collect(const struct function *function, int code)
{
    struct torc_fake_options options = with_answer(NULL);
    if (code == TORC_EBADMSG) {
        options = with_answer(answer_with_another_tag);
    } else if (code == TORC_ENOMEM) {
        options = with_answer(answer_at_length);
    }
    options.dies_at_request = code == TORC_EPIPE;
    struct client_fixture f = client_fixture_fake(&options);
    if (code == TORC_ETIMEDOUT || code == TORC_EAGAIN) {
        stall(&f);
    }
    if (code != TORC_ENOENT) {
        ck_assert_int_eq(submit_hget(f.torc), TORC_OK);
    }
    if (code == TORC_EINVAL) {
        expect_refused_elsewhere(&f, function);
    } else {
        int64_t rc;
        torc_heap_fail_at(code == TORC_ENOMEM);
        do {
            rc = function->call(f.torc);
        } while (rc == TORC_EAGAIN && code != TORC_EAGAIN);
        torc_heap_fail_at(0);
        expect(&f, function->name, rc, code);
    }
    ck_assert_uint_eq(torc_outstanding(f.torc), code != TORC_ENOENT);
    torc_fake_server_hold(f.server, false);
    client_fixture_end(&f);
}

static void produce_in_borrow(const struct function *function, int code)
{
    struct client_fixture f = client_fixture_fake(NULL);
    const struct torc_bytes words[] = {torc_str("HGET"), torc_str("k"), torc_str("f")};
    ck_assert_int_eq(torc_hset(f.torc, torc_str("k"), torc_str("f"), torc_str("v")), 1);
    for (size_t i = 0; code == TORC_ENOSPC && i < TORC_LOANS_MAX; i++) {
        ck_assert_int_eq(torc_command(f.torc, words, 3, &result), TORC_OK);
        ck_assert_int_eq(torc_borrow(f.torc, &result, &loan), TORC_OK);
    }
    loan.id = 0;
    value = torc_str("not of a reply");
    if (code != TORC_EINVAL) {
        ck_assert_int_eq(torc_command(f.torc, words, 3, &result), TORC_OK);
        value = result.string;
    }
    torc_heap_fail_at(code == TORC_ENOMEM);
    int64_t rc = function->call(f.torc);
    torc_heap_fail_at(0);
    expect(&f, function->name, rc, code);
    ck_assert_uint_eq(loan.id, 0);
    client_fixture_end(&f);
}

/* A server that makes attaching fail so. */
static struct torc_fake_options attach_options(int code)
{
    switch (code) {
    case TORC_EPROTO:
        return (struct torc_fake_options){.attach = TORC_FAKE_NEXT_VERSION};
    case TORC_EPIPE:
        return (struct torc_fake_options){.attach = TORC_FAKE_HANG_UP};
    case TORC_ENOSPC:
        return (struct torc_fake_options){
            .attach = TORC_FAKE_REFUSE, .refuse_error = -ENOSPC, .refuse_text = "too many"};
    case TORC_EINVAL:
        return (struct torc_fake_options){
            .attach = TORC_FAKE_REFUSE, .refuse_error = -EINVAL, .refuse_text = "no such database"};
    case TORC_EBADMSG:
        return (struct torc_fake_options){.attach = TORC_FAKE_BABBLE};
    case TORC_ETIMEDOUT:
        return (struct torc_fake_options){.attach = TORC_FAKE_SILENT};
    default:
        return (struct torc_fake_options){.attach = TORC_FAKE_ACCEPT};
    }
}

static void produce_in_open(int code)
{
    struct torc_fake_options server_options = attach_options(code);
    struct torc_fake_server *server = torc_fake_server_start(&server_options);
    struct torc_options options = {.socket = torc_fake_server_path(server)};
    if (code == TORC_ENOENT) {
        options.socket = "/nowhere/torc.sock";
    }
    struct torc *torc = NULL;
    const char *why = "";
    torc_heap_fail_at(code == TORC_ENOMEM);
    int rc = torc_open(&options, &torc, &why);
    torc_heap_fail_at(0);
    ck_assert_msg(rc == code, "%s instead of %s (%s)", torc_error_name(rc), torc_error_name(code),
                  why);
    ck_assert_ptr_null(torc);
    ck_assert_uint_gt(strlen(why), 0);
    torc_fake_server_stop(server);
}

static void produce_in_reattach(const struct function *function, int code)
{
    struct client_fixture f = client_fixture_fake(NULL);
    struct torc_fake_options options = attach_options(code);
    torc_fake_server_set(f.server, &options);
    if (code == TORC_ENOENT) {
        torc_fake_server_stop(f.server);
        f.server = NULL;
    }
    torc_heap_fail_at(code == TORC_ENOMEM);
    int64_t rc = function->call(f.torc);
    torc_heap_fail_at(0);
    expect(&f, function->name, rc, code);
    ck_assert_int_eq(torc_ping(f.torc), TORC_EPIPE);
    client_fixture_end(&f);
}

static void produce(const struct function *function, int code)
{
    key = torc_str("k");
    switch (function->way) {
    case SUBMIT:
        produce_in_submit(function, code);
        break;
    case COLLECT:
        produce_in_collect(function, code);
        break;
    case BORROW:
        produce_in_borrow(function, code);
        break;
    case ATTACH:
        if (function->call == NULL) {
            produce_in_open(code);
        } else {
            produce_in_reattach(function, code);
        }
        break;
    }
}

/* --- the tests --- */

START_TEST(every_code_of_a_call_is_produced)
{
    const struct client_call *c = &client_calls[_i];
    key = torc_str("k");
    for (int code = TORC_EINVAL; code >= TORC_ENOSPC; code--) {
        if ((c->codes & CODE(code)) != 0) {
            produce_in_call(c, code);
        }
    }
}
END_TEST

START_TEST(every_code_of_another_function_is_produced)
{
    const struct function *function = &functions[_i];
    for (int code = TORC_EINVAL; code >= TORC_ENOSPC; code--) {
        if ((function->codes & CODE(code)) != 0) {
            produce(function, code);
        }
    }
}
END_TEST

/* --- the header --- */

static char header[200000];

static void read_header(void)
{
    FILE *file = fopen(TORC_SOURCE_DIR "/client/include/torc/torc.h", "r");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(header, 1, sizeof header - 1, file);
    ck_assert_uint_gt(len, 1000);
    ck_assert_uint_lt(len, sizeof header - 1);
    header[len] = '\0';
    (void)fclose(file);
}

/* The codes that are named in [text, end). */
static uint32_t codes_named(const char *text, const char *end)
{
    uint32_t codes = 0;
    while ((text = strstr(text, "TORC_E")) != NULL && text < end) {
        size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        for (int code = TORC_EINVAL; code >= TORC_ENOSPC; code--) {
            const char *name = torc_error_name(code);
            if (strlen(name) == len && memcmp(name, text, len) == 0) {
                codes |= CODE(code);
            }
        }
        text += len;
    }
    return codes;
}

static uint32_t codes_of_section(const char *heading)
{
    const char *text = strstr(header, heading);
    ck_assert_msg(text != NULL, "torc.h has no \"%s\"", heading);
    return codes_named(text + strlen(heading), strstr(text, "*/"));
}

/* The codes in the comment before a declaration, from "Errors:" on. */
static uint32_t codes_documented(const char *declaration)
{
    const char *comment = NULL;
    const char *end = NULL;
    for (const char *c = header; (c = strstr(c, "/*")) != NULL && c < declaration; c++) {
        comment = c;
    }
    ck_assert_ptr_nonnull(comment);
    end = strstr(comment, "*/");
    ck_assert_msg(end + 2 + strspn(end + 2, "\n") == declaration, "no comment: %.60s", declaration);
    const char *errors = strstr(comment, "Errors:");
    if (errors == NULL || errors > end) {
        return 0;
    }
    uint32_t codes = codes_named(errors, end);
    const char *each = strstr(errors, "each call's");
    if (each != NULL && each < end) {
        codes |= codes_of_section("Errors of each call:");
    }
    each = strstr(errors, "each submit's");
    if (each != NULL && each < end) {
        const char *less = strstr(each, "without TORC_ENOMEM");
        codes |= codes_of_section("Errors of each submit");
        codes &= less != NULL && less < end ? ~CODE(TORC_ENOMEM) : ~0u;
    }
    return codes;
}

/* 0: not in the tables. */
static uint32_t codes_in_tables(const char *name, size_t len)
{
    for (size_t i = 0; i < client_n_calls; i++) {
        if (strncmp(client_calls[i].name, name, len) == 0 && client_calls[i].name[len] == '\0') {
            return client_calls[i].codes;
        }
    }
    for (size_t i = 0; i < N_OF(functions); i++) {
        if (strncmp(functions[i].name, name, len) == 0 && functions[i].name[len] == '\0') {
            return functions[i].codes;
        }
    }
    return 0;
}

START_TEST(the_header_names_the_codes_of_the_tables)
{
    read_header();
    unsigned n_with_codes = 0;
    const char *declaration = header;
    while ((declaration = strstr(declaration, "\nTORC_API ")) != NULL) {
        declaration++;
        const char *name = strstr(declaration, "torc_");
        while (name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] != '(') {
            name = strstr(name + 1, "torc_"); /* a type */
        }
        name += strlen("torc_");
        size_t len = strcspn(name, "(");
        uint32_t documented = codes_documented(declaration);
        ck_assert_msg(documented == codes_in_tables(name, len),
                      "torc_%.*s(): documented %x, in the tables %x", (int)len, name, documented,
                      codes_in_tables(name, len));
        n_with_codes += documented != 0;
    }
    /* Two calls are in the table twice. */
    ck_assert_uint_eq(n_with_codes, client_n_calls - 2 + N_OF(functions));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error table");
    TCase *tcase = tcase_create("error table");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_code_of_a_call_is_produced, 0, (int)client_n_calls);
    tcase_add_loop_test(tcase, every_code_of_another_function_is_produced, 0, (int)N_OF(functions));
    tcase_add_test(tcase, the_header_names_the_codes_of_the_tables);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
