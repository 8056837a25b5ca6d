/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/placement.h"
#include "tools/torcd/control.h"
#include "tools/torcd/poller.h"

struct torc_server {
    const struct torc_settings *settings;
    struct torc_log *log;
    struct torc_shared shared;
    struct torc_service service;
    struct torc_control *control;
    struct torc_poller *poller;
    bool is_serving;
    bool is_stopping;
};

/* Nothing falls back in silence. */
static void report_start(struct torc_server *server)
{
    const struct torc_settings *settings = server->settings;
    const struct torc_facts *facts = &server->service.facts;
    const struct torc_region *region = &server->service.arena->region;
    const struct torc_region_report *report = &region->report;
    struct torc_log *log = server->log;

    torc_log(log, TORC_LOG_NOTICE, "server: torcd %s pid=%ld run_id=%s", TORC_VERSION,
             (long)facts->pid, facts->run_id);
    torc_log(log, TORC_LOG_NOTICE, "server: data in %s, range %llu MiB, maxmemory %llu",
             torc_page_kind_name(report->pages), (unsigned long long)(region->capacity / TORC_MIB),
             (unsigned long long)settings->maxmemory);
    if (report->pages_why != NULL && settings->huge_pages != TORC_HUGE_NO) {
        torc_log(log, TORC_LOG_WARNING, "server: no larger pages: %s", report->pages_why);
    }
    if (report->numa_why != NULL) {
        torc_log(log, TORC_LOG_WARNING, "server: memory is not on the poller's NUMA node: %s",
                 report->numa_why);
    }
    if (report->lock_why != NULL && settings->realtime) {
        torc_log(log, TORC_LOG_WARNING, "server: memory is not locked: %s", report->lock_why);
    }
    if (facts->realtime.why != NULL) {
        torc_log(log, TORC_LOG_WARNING, "server: the process is not locked in memory: %s",
                 facts->realtime.why);
    }
    if (facts->pin_why != NULL) {
        torc_log(log, TORC_LOG_WARNING, "server: the poller is not pinned: %s", facts->pin_why);
    }
    if (!facts->clock.is_tsc) {
        torc_log(log, TORC_LOG_WARNING,
                 "server: the time-stamp counter is not usable, CLOCK_MONOTONIC_RAW is used");
    }
    if (settings->port != 0) {
        torc_log(log, TORC_LOG_NOTICE, "server: RESP on %s port %lld", settings->bind,
                 (long long)settings->port);
    }
    if (settings->unixsocket[0] != '\0') {
        torc_log(log, TORC_LOG_NOTICE, "server: RESP on %s", settings->unixsocket);
    }
    torc_log(log, TORC_LOG_NOTICE, "server: rings attach at %s", settings->control_socket);
}

struct pin_try {
    int cpu;
    int rc;
};

static void *try_pin(void *arg)
{
    struct pin_try *try = arg;
    try->rc = torc_placement_pin_self(try->cpu);
    return NULL;
}

/* Whether a thread may be pinned there is known by trying it, in one that then ends. */
static void check_pin(struct torc_facts *facts)
{
    struct pin_try try = {.cpu = facts->poller_cpu, .rc = -EINVAL};
    pthread_t thread;
    if (facts->poller_cpu < 0) {
        return;
    }
    if (pthread_create(&thread, NULL, try_pin, &try) != 0) {
        facts->pin_why = "no thread to try it";
        facts->poller_cpu = -1;
        return;
    }
    (void)pthread_join(thread, NULL);
    if (try.rc != 0) {
        facts->pin_why = "there is no such CPU, or it is not allowed";
        facts->poller_cpu = -1;
    }
}

int torc_server_create(const struct torc_server_options *options, struct torc_server **out_server,
                       char why[TORC_OPTION_ERROR_BYTES])
{
    struct torc_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "no memory");
        return -ENOMEM;
    }
    server->settings = options->settings;
    server->log = options->log;
    struct torc_control_options control = {
        .settings = options->settings,
        .shared = &server->shared,
        .log = options->log,
        .takes_signals = options->takes_signals,
    };
    int rc = torc_control_create(&control, &server->control, why);
    if (rc == 0) {
        rc = torc_service_init(&server->service, options->settings, &server->shared,
                               options->config_file, why);
    }
    if (rc == 0) {
        check_pin(&server->service.facts);
        rc = torc_poller_create(&server->service, torc_control_inbox(server->control),
                                &server->poller);
        if (rc != 0) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "no memory or descriptors for a poller");
        }
    }
    if (rc == 0 && options->settings->realtime) {
        rc = torc_realtime_enter((size_t)options->settings->realtime_buffers,
                                 &server->service.facts.realtime);
        if (rc != 0) {
            (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "no memory for realtime-buffers");
        }
    }
    if (rc != 0) {
        torc_server_destroy(server);
        return rc;
    }
    report_start(server);
    *out_server = server;
    return 0;
}

static void serve(struct torc_server *server)
{
    if (!server->is_serving) {
        server->is_serving = true;
        torc_control_serve(server->control, torc_poller_inbox(server->poller),
                           torc_arena_epoch(server->service.arena));
    }
}

static void *run_poller(void *arg)
{
    struct torc_server *server = arg;
    if (server->settings->realtime) {
        torc_realtime_touch_stack();
    }
    torc_poller_run(server->poller);
    return NULL;
}

/* The poller's thread takes no signals: they are the control thread's. */
static int start_poller(struct torc_server *server, pthread_t *out_thread)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(out_thread, NULL, run_poller, server);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return -EAGAIN;
    }
    (void)pthread_setname_np(*out_thread, "torc-poller-0");
    return 0;
}

/* The poller has stopped: take its last messages, and let the last sessions go. */
static void end_control(struct torc_server *server)
{
    do {
        (void)torc_control_step(server->control, 0);
    } while (!torc_control_is_empty(server->control));
}

int torc_server_run(struct torc_server *server, void (*on_ready)(void *arg), void *arg)
{
    pthread_t thread;
    int rc = start_poller(server, &thread);
    if (rc != 0) {
        return rc;
    }
    serve(server);
    torc_log_always(server->log, "server: ready");
    if (on_ready != NULL) {
        on_ready(arg);
    }
    while (!torc_control_wants_stop(server->control)) {
        (void)torc_control_step(server->control, -1);
    }
    server->is_stopping = true;
    torc_control_begin_stop(server->control);
    (void)pthread_join(thread, NULL);
    end_control(server);
    torc_log_always(server->log, "server: stopped");
    return 0;
}

void torc_server_stop(struct torc_server *server)
{
    torc_control_stop(server->control);
}

bool torc_server_step(struct torc_server *server)
{
    serve(server);
    bool did = torc_control_step(server->control, 0);
    return torc_poller_round(server->poller) || did;
}

struct torc_service *torc_server_service(struct torc_server *server)
{
    return &server->service;
}

void torc_server_destroy(struct torc_server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->is_serving && !server->is_stopping) {
        /* It was run by steps. */
        torc_control_begin_stop(server->control);
        while (!torc_poller_is_stopped(server->poller) || !torc_control_is_empty(server->control)) {
            (void)torc_server_step(server);
        }
        end_control(server);
    }
    torc_poller_destroy(server->poller);
    torc_control_destroy(server->control);
    torc_service_fini(&server->service);
    free(server);
}
