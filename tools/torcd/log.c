/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {"debug", "verbose", "notice", "warning"};

int torc_log_open(struct torc_log *log, const char *path, enum torc_log_level level,
                  char why[TORC_OPTION_ERROR_BYTES])
{
    *log = (struct torc_log){.fd = STDOUT_FILENO, .level = level};
    if (*path == '\0') {
        return 0;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "cannot open logfile %.150s: %s", path,
                       strerror(errno));
        return -EINVAL;
    }
    log->fd = fd;
    log->owns_fd = true;
    return 0;
}

void torc_log_close(struct torc_log *log)
{
    if (log->owns_fd) {
        (void)close(log->fd);
    }
    *log = (struct torc_log){.fd = -1};
}

/* Date and level at the front of `line`; returns their length. */
static size_t put_head(char line[TORC_LOG_LINE_BYTES], const struct timespec *now,
                       enum torc_log_level level)
{
    struct tm date;
    (void)gmtime_r(&now->tv_sec, &date);
    size_t len = strftime(line, TORC_LOG_LINE_BYTES, "%Y-%m-%dT%H:%M:%S", &date);
    int n = snprintf(line + len, TORC_LOG_LINE_BYTES - len, ".%06ldZ %s ", now->tv_nsec / 1000,
                     level_names[level]);
    return len + (size_t)n;
}

/* One write per line, so that lines of several processes do not mix. */
static void put_line(const struct torc_log *log, char line[TORC_LOG_LINE_BYTES], size_t len)
{
    len = torc_min_u64(len, TORC_LOG_LINE_BYTES - 1);
    line[len++] = '\n';
    ssize_t n = write(log->fd, line, len);
    (void)n; /* there is nobody to tell */
}

/* Say how many lines were left out. */
static void tell_left_out(struct torc_log *log, const struct timespec *now)
{
    if (log->n_left_out == 0) {
        return;
    }
    char line[TORC_LOG_LINE_BYTES];
    size_t len = put_head(line, now, TORC_LOG_WARNING);
    int n = snprintf(line + len, sizeof line - len, "log: %u lines left out", log->n_left_out);
    put_line(log, line, len + (size_t)n);
    log->n_left_out = 0;
}

/* May another line be written in this second? */
static bool has_turn(struct torc_log *log, const struct timespec *now)
{
    if ((uint64_t)now->tv_sec != log->second) {
        tell_left_out(log, now);
        log->second = (uint64_t)now->tv_sec;
        log->n_lines = 0;
    }
    if (log->n_lines >= TORC_LOG_BURST) {
        log->n_left_out++;
        return false;
    }
    log->n_lines++;
    return true;
}

static void put_event(const struct torc_log *log, const struct timespec *now,
                      enum torc_log_level level, const char *format, va_list args)
    TORC_PRINTF(4, 0);

static void put_event(const struct torc_log *log, const struct timespec *now,
                      enum torc_log_level level, const char *format, va_list args)
{
    char line[TORC_LOG_LINE_BYTES];
    size_t len = put_head(line, now, level);
    int n = vsnprintf(line + len, sizeof line - len, format, args);
    put_line(log, line, len + (n > 0 ? (size_t)n : 0));
}

void torc_log(struct torc_log *log, enum torc_log_level level, const char *format, ...)
{
    struct timespec now;
    if (log->fd < 0 || level < log->level) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!has_turn(log, &now)) {
        return;
    }
    va_list args;
    va_start(args, format);
    put_event(log, &now, level, format, args);
    va_end(args);
}

void torc_log_always(struct torc_log *log, const char *format, ...)
{
    struct timespec now;
    if (log->fd < 0) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    tell_left_out(log, &now);
    va_list args;
    va_start(args, format);
    put_event(log, &now, TORC_LOG_NOTICE, format, args);
    va_end(args);
}
