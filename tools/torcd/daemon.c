/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/daemon.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int torc_daemon_detach(int *out_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -EAGAIN;
    }
    pid_t pid = fork();
    if (pid < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return -EAGAIN;
    }
    if (pid > 0) {
        /* One byte: it serves. The end of the pipe without it: it has said why not. */
        char byte;
        (void)close(ends[1]);
        ssize_t n;
        do {
            n = read(ends[0], &byte, 1);
        } while (n < 0 && errno == EINTR);
        _exit(n == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    (void)close(ends[0]);
    (void)setsid();
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
        (void)close(nothing);
    }
    *out_fd = ends[1];
    return 0;
}

void torc_daemon_ready(int fd)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        (void)dup2(nothing, STDOUT_FILENO);
        (void)dup2(nothing, STDERR_FILENO);
        (void)close(nothing);
    }
    ssize_t n = write(fd, "1", 1);
    (void)n; /* nobody waits any more */
    (void)close(fd);
}

int torc_daemon_write_pid(const char *path, char why[TORC_OPTION_ERROR_BYTES])
{
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t n = fd >= 0 ? write(fd, text, (size_t)len) : -1;
    if (n != len) {
        (void)snprintf(why, TORC_OPTION_ERROR_BYTES, "cannot write pidfile %.150s: %s", path,
                       strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return n == len ? 0 : -EINVAL;
}

void torc_daemon_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path != NULL ? strlen(path) : 0;
    if (len < 2 || len >= sizeof address.sun_path) {
        return;
    }
    memcpy(address.sun_path, path, len);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* abstract */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    (void)close(fd);
}
