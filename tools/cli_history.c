/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *torc_cli_history_path(void)
{
    const char *given = getenv("TORC_HISTORY");
    if (given != NULL) {
        return given[0] != '\0' ? strdup(given) : NULL;
    }
    const char *home = getenv("HOME");
    char *path = NULL;
    if (home == NULL || home[0] == '\0' || asprintf(&path, "%s/.torc_history", home) < 0) {
        return NULL;
    }
    return path;
}

/* The last bytes of the file, from the start of a line. -1: cannot be read. */
static ssize_t read_end(int fd, off_t size, char *buffer)
{
    off_t start = size > TORC_CLI_HISTORY_FILE_BYTES ? size - TORC_CLI_HISTORY_FILE_BYTES : 0;
    size_t len = 0;
    while (len < TORC_CLI_HISTORY_FILE_BYTES) {
        ssize_t n = pread(fd, buffer + len, TORC_CLI_HISTORY_FILE_BYTES - len, start + (off_t)len);
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        len += (size_t)n;
    }
    if (start > 0) {
        const char *newline = memchr(buffer, '\n', len);
        size_t cut = newline != NULL ? (size_t)(newline - buffer) + 1 : len;
        len -= cut;
        memmove(buffer, buffer + cut, len);
    }
    return (ssize_t)len;
}

/* Where the newest TORC_CLI_HISTORY_LINES lines start. */
static size_t newest_lines(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t at = len; at > 0; at--) {
        /* A line end that has a line behind it. */
        if (text[at - 1] == '\n' && at < len && ++n == TORC_CLI_HISTORY_LINES) {
            return at;
        }
    }
    return 0;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static void give_lines(char *text, size_t len, void (*each)(void *arg, const char *line), void *arg)
{
    for (size_t at = 0; at < len;) {
        char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : len;
        text[end] = '\0';
        if (end > at) {
            each(arg, text + at);
        }
        at = end + 1;
    }
}

int torc_cli_history_open(struct torc_cli_history *history, const char *path,
                          void (*each)(void *arg, const char *line), void *arg)
{
    history->fd = -1;
    if (path == NULL) {
        return 0;
    }
    int rc = 0;
    struct stat stat;
    char *text = malloc(TORC_CLI_HISTORY_FILE_BYTES + 1);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (text == NULL || fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &stat) != 0) {
        rc = text == NULL ? -ENOMEM : -errno;
        goto out;
    }
    if (!S_ISREG(stat.st_mode)) {
        goto out;
    }
    /* One that others could read, from whatever made it. */
    if ((stat.st_mode & 077) != 0 && fchmod(fd, 0600) != 0) {
        rc = -errno;
        goto out;
    }
    ssize_t len = read_end(fd, stat.st_size, text);
    if (len < 0) {
        rc = -errno;
        goto out;
    }
    size_t start = newest_lines(text, (size_t)len);
    bool is_cut = (off_t)((size_t)len - start) != stat.st_size;
    if (is_cut && (ftruncate(fd, 0) != 0 || !write_all(fd, text + start, (size_t)len - start))) {
        rc = -errno;
        goto out;
    }
    give_lines(text + start, (size_t)len - start, each, arg);
    (void)flock(fd, LOCK_UN);
    history->fd = fd;
    fd = -1;
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    free(text);
    return rc;
}

void torc_cli_history_add(struct torc_cli_history *history, const char *line)
{
    size_t len = strlen(line);
    if (history->fd < 0 || len == 0 || len > TORC_CLI_HISTORY_LINE_BYTES) {
        return;
    }
    /* One write, so that lines of several prompts do not mix. */
    char text[TORC_CLI_HISTORY_LINE_BYTES + 2];
    (void)snprintf(text, sizeof text, "%s\n", line);
    (void)flock(history->fd, LOCK_EX);
    (void)write_all(history->fd, text, len + 1);
    (void)flock(history->fd, LOCK_UN);
}

void torc_cli_history_close(struct torc_cli_history *history)
{
    if (history->fd >= 0) {
        (void)close(history->fd);
        history->fd = -1;
    }
}
