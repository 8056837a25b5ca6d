/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tools/torcd/mailbox.h"

enum { SENDERS = 3, LETTERS = 2000 };

struct letter {
    struct torc_mail mail;
    int sender;
    int number;
};

static struct torc_mailbox box;

static void set_up(void)
{
    ck_assert_int_eq(torc_mailbox_init(&box), 0);
}

static void tear_down(void)
{
    torc_mailbox_fini(&box);
}

static struct letter *receive(void)
{
    return (struct letter *)(void *)torc_mailbox_receive(&box);
}

START_TEST(letters_come_in_the_order_they_were_sent)
{
    struct letter letters[5];
    ck_assert(torc_mailbox_is_empty(&box));
    ck_assert_ptr_null(receive());
    for (int i = 0; i < 5; i++) {
        letters[i].mail.kind = i;
        torc_mailbox_send(&box, &letters[i].mail);
        ck_assert(!torc_mailbox_is_empty(&box));
    }
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_eq(receive(), &letters[i]);
    }
    ck_assert_ptr_null(receive());
    ck_assert(torc_mailbox_is_empty(&box));
}
END_TEST

START_TEST(a_letter_may_be_sent_again_once_it_was_received)
{
    struct letter a;
    struct letter b;
    for (int i = 0; i < 10; i++) {
        torc_mailbox_send(&box, &a.mail);
        ck_assert_ptr_eq(receive(), &a);
        torc_mailbox_send(&box, &b.mail);
        torc_mailbox_send(&box, &a.mail);
        ck_assert_ptr_eq(receive(), &b);
        ck_assert_ptr_eq(receive(), &a);
        ck_assert(torc_mailbox_is_empty(&box));
    }
}
END_TEST

START_TEST(sending_makes_the_descriptor_readable)
{
    struct letter letter;
    struct pollfd watch = {.fd = box.wake_fd, .events = POLLIN};
    ck_assert_int_eq(poll(&watch, 1, 0), 0);
    torc_mailbox_send(&box, &letter.mail);
    ck_assert_int_eq(poll(&watch, 1, 0), 1);
    ck_assert_ptr_eq(receive(), &letter);
}
END_TEST

static struct letter sent[SENDERS][LETTERS];

static void *send_all(void *arg)
{
    struct letter *mine = arg;
    for (int i = 0; i < LETTERS; i++) {
        torc_mailbox_send(&box, &mine[i].mail);
    }
    return NULL;
}

START_TEST(several_senders_lose_nothing_and_keep_their_order)
{
    pthread_t threads[SENDERS];
    int next[SENDERS] = {0};
    for (int s = 0; s < SENDERS; s++) {
        for (int i = 0; i < LETTERS; i++) {
            sent[s][i].sender = s;
            sent[s][i].number = i;
        }
        ck_assert_int_eq(pthread_create(&threads[s], NULL, send_all, sent[s]), 0);
    }
    for (int n = 0; n < SENDERS * LETTERS;) {
        struct letter *letter = receive();
        if (letter == NULL) {
            (void)sched_yield();
            continue;
        }
        ck_assert_int_eq(letter->number, next[letter->sender]);
        next[letter->sender]++;
        n++;
    }
    for (int s = 0; s < SENDERS; s++) {
        ck_assert_int_eq(pthread_join(threads[s], NULL), 0);
    }
    ck_assert(torc_mailbox_is_empty(&box));
    ck_assert_ptr_null(receive());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mailbox");
    TCase *tcase = tcase_create("mailbox");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, letters_come_in_the_order_they_were_sent);
    tcase_add_test(tcase, a_letter_may_be_sent_again_once_it_was_received);
    tcase_add_test(tcase, sending_makes_the_descriptor_readable);
    tcase_add_test(tcase, several_senders_lose_nothing_and_keep_their_order);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
