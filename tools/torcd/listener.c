/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 100 /* with 10 ms between */

#define SOCKET_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

#define SAY(...) (void)snprintf(why, TORC_OPTION_ERROR_BYTES, __VA_ARGS__)

int torc_listener_tcp(const char *address, int port, int backlog,
                      struct torc_listener *out_listener, char why[TORC_OPTION_ERROR_BYTES])
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr *to = (const struct sockaddr *)&v4;
    socklen_t len = sizeof v4;
    static const int one = 1;

    if (strcmp(address, "*") == 0) {
        v4.sin_addr.s_addr = htonl(INADDR_ANY);
    } else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
        to = (const struct sockaddr *)&v6;
        len = sizeof v6;
    } else if (inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
        SAY("bind %.100s is not an IPv4 or IPv6 address", address);
        return -EINVAL;
    }
    int fd = socket(to->sa_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0) {
        SAY("cannot make a TCP socket: %s", strerror(errno));
        return -EINVAL;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (to->sa_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    }
    if (bind(fd, to, len) != 0 || listen(fd, backlog) != 0) {
        SAY("cannot listen on %.100s port %d: %s", address, port, strerror(errno));
        (void)close(fd);
        return -EINVAL;
    }
    *out_listener = (struct torc_listener){.fd = fd};
    return 0;
}

/* Does anybody listen there? 1, 0, or -EINVAL when that cannot be told. */
static int is_alive(const struct sockaddr_un *address, int type)
{
    int fd = socket(AF_UNIX, type | SOCKET_FLAGS, 0);
    if (fd < 0) {
        return -EINVAL;
    }
    int rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
    int error = errno;
    (void)close(fd);
    if (rc == 0 || error == EAGAIN || error == EINPROGRESS || error == EPROTOTYPE) {
        return 1; /* its queue may be full, or it may be of another type */
    }
    return error == ECONNREFUSED || error == ENOENT ? 0 : -EINVAL;
}

/* Make way: remove what a dead server left, refuse whatever else stands there. */
static int clear_path(const struct sockaddr_un *address, int type,
                      char why[TORC_OPTION_ERROR_BYTES])
{
    const char *path = address->sun_path;
    struct stat st;
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT) {
            return 0;
        }
        SAY("cannot use socket path %s: %s", path, strerror(errno));
        return -EINVAL;
    }
    if (!S_ISSOCK(st.st_mode)) {
        SAY("socket path %s exists and is not a socket", path);
        return -EINVAL;
    }
    int alive = is_alive(address, type);
    if (alive == 1) {
        SAY("another server is listening on %s", path);
        return -EINVAL;
    }
    if (alive < 0 || unlink(path) != 0) {
        SAY("cannot replace the socket %s: %s", path, strerror(errno));
        return -EINVAL;
    }
    return 0;
}

static int give_to_group(const char *path, const char *name, char why[TORC_OPTION_ERROR_BYTES])
{
    if (*name == '\0') {
        return 0;
    }
    const struct group *group = getgrnam(name);
    if (group == NULL) {
        SAY("no group is called %.100s", name);
        return -EINVAL;
    }
    if (lchown(path, (uid_t)-1, group->gr_gid) != 0) {
        SAY("cannot give %s to group %.60s: %s", path, name, strerror(errno));
        return -EINVAL;
    }
    return 0;
}

static int bind_with_mode(int fd, const struct sockaddr_un *address, mode_t mode)
{
    /* The file has its mode from the first moment on. */
    mode_t before = mode != 0 ? umask((mode_t)0777 & ~mode) : 0;
    int rc = bind(fd, (const struct sockaddr *)address, sizeof *address);
    int error = errno;
    if (mode != 0) {
        (void)umask(before);
    }
    errno = error;
    return rc;
}

/* Clear the path, bind and listen. */
static int open_unix(const struct torc_listener_unix_options *options,
                     const struct sockaddr_un *address, struct torc_listener *out_listener,
                     char why[TORC_OPTION_ERROR_BYTES])
{
    int rc = clear_path(address, options->type, why);
    if (rc != 0) {
        return rc;
    }
    int fd = socket(AF_UNIX, options->type | SOCKET_FLAGS, 0);
    if (fd < 0) {
        SAY("cannot make a Unix socket: %s", strerror(errno));
        return -EINVAL;
    }
    if (bind_with_mode(fd, address, options->mode) != 0) {
        SAY("cannot make the socket %s: %s", address->sun_path, strerror(errno));
        (void)close(fd);
        return -EINVAL;
    }
    struct stat st = {0};
    rc = give_to_group(address->sun_path, options->group, why);
    if (rc == 0 && (lstat(address->sun_path, &st) != 0 || listen(fd, options->backlog) != 0)) {
        SAY("cannot listen on %s: %s", address->sun_path, strerror(errno));
        rc = -EINVAL;
    }
    if (rc != 0) {
        (void)unlink(address->sun_path);
        (void)close(fd);
        return rc;
    }
    *out_listener = (struct torc_listener){
        .fd = fd,
        .path = options->path,
        .device = st.st_dev,
        .inode = st.st_ino,
    };
    return 0;
}

/* Lock the folder of the path, so that of two servers that find the same dead socket only one
 * replaces it. -1: it cannot be locked, or somebody keeps it for long; then we go on without. */
static int lock_folder(const char *path)
{
    char folder[sizeof((struct sockaddr_un *)NULL)->sun_path];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    memcpy(folder, path, len);
    folder[len] = '\0';
    int fd = open(len == 0 ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        static const struct timespec pause = {.tv_nsec = 10000000};
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return fd;
        }
        (void)nanosleep(&pause, NULL);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

int torc_listener_unix(const struct torc_listener_unix_options *options,
                       struct torc_listener *out_listener, char why[TORC_OPTION_ERROR_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(options->path);
    if (len >= sizeof address.sun_path) {
        SAY("socket path %.60s... is too long: %zu bytes, at most %zu", options->path, len,
            sizeof address.sun_path - 1);
        return -EINVAL;
    }
    memcpy(address.sun_path, options->path, len + 1);
    int lock = lock_folder(address.sun_path);
    int rc = open_unix(options, &address, out_listener, why);
    if (lock >= 0) {
        (void)close(lock);
    }
    return rc;
}

void torc_listener_close(struct torc_listener *listener)
{
    if (listener->fd < 0) {
        return;
    }
    struct stat st;
    if (listener->path != NULL && lstat(listener->path, &st) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode) {
        (void)unlink(listener->path);
    }
    (void)close(listener->fd);
    listener->fd = -1;
}
