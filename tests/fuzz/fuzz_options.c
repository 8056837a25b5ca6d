/* SPDX-License-Identifier: Apache-2.0
 *
 * The config grammar. The input is one or more files with a byte 0x1c between them: the first is
 * read, the others can be included by their number. Beside staying inside its memory, a refused
 * text must leave the settings as they were, with a message; and of an accepted one, every value
 * printed must be taken back and print the same.
 */
#include "core/options_file.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct settings {
    int64_t port;
    uint64_t maxmemory;
    int mode;
    bool lock;
    char dir[32];
};

static const char *const modes[] = {"busy", "adaptive", "yield", NULL};

static const struct torc_option entries[] = {
    {.name = "port",
     .kind = TORC_OPTION_INT,
     .offset = offsetof(struct settings, port),
     .min = -5,
     .max = 65535},
    {.name = "maxmemory",
     .kind = TORC_OPTION_BYTES,
     .offset = offsetof(struct settings, maxmemory),
     .initial = "1gb"},
    {.name = "poll-mode",
     .kind = TORC_OPTION_ENUM,
     .offset = offsetof(struct settings, mode),
     .words = modes},
    {.name = "lock", .kind = TORC_OPTION_BOOL, .offset = offsetof(struct settings, lock)},
    {.name = "dir",
     .kind = TORC_OPTION_TEXT,
     .offset = offsetof(struct settings, dir),
     .size = sizeof((struct settings *)0)->dir},
    {.name = "directory", .alias_of = "dir"},
};
static const struct torc_option_table options = {entries, sizeof entries / sizeof entries[0]};

/* The settings start as zero bytes and members are set one by one, so padding stays alike too. */
static bool same_bytes(const void *a, const void *b, size_t len)
{
    return memcmp(a, b, len) == 0;
}

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct input {
    const char *data;
    size_t size;
};

/* The file with the number `path`. */
static int load(void *arg, const char *path, struct torc_options_text *out_text,
                char error[TORC_OPTION_ERROR_BYTES])
{
    const struct input *input = arg;
    size_t at = 0;
    size_t len = 0;
    unsigned number = path[0] >= '0' && path[0] <= '9' && path[1] == '\0'
                          ? (unsigned)(path[0] - '0')
                          : UINT32_MAX;
    for (unsigned i = 0;; i++) {
        const char *end =
            at < input->size ? memchr(input->data + at, 0x1c, input->size - at) : NULL;
        len = end != NULL ? (size_t)(end - input->data) - at : input->size - at;
        if (i == number) {
            break;
        }
        if (end == NULL) {
            (void)snprintf(error, TORC_OPTION_ERROR_BYTES, "%.40s: absent", path);
            return -ENOENT;
        }
        at += len + 1;
    }
    char *copy = malloc(len + (len == 0));
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, input->data + at, len);
    *out_text = (struct torc_options_text){.data = copy, .len = len, .identity = {number}};
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings;
    static struct settings before;
    char error[TORC_OPTION_ERROR_BYTES] = "";
    torc_options_init(&options, &settings);
    memcpy(&before, &settings, sizeof before);

    struct input input = {(const char *)data, size};
    const struct torc_options_source source = {.load = load, .arg = &input};
    int rc = torc_options_load(&options, &settings, "0", &source, error);
    require(rc == 0 || rc == -EINVAL);
    if (rc != 0) {
        require(error[0] != '\0' && memchr(error, '\0', sizeof error) != NULL);
        require(same_bytes(&before, &settings, sizeof before));
        return 0;
    }
    require(error[0] == '\0');
    for (size_t i = 0; i < options.n; i++) {
        char text[64];
        char again[64];
        require(torc_options_get(&options, &settings, entries[i].name, text, sizeof text) == 0);
        require(torc_options_set(&options, &before, entries[i].name, text, error) == 0);
        require(torc_options_get(&options, &before, entries[i].name, again, sizeof again) == 0);
        require(strcmp(text, again) == 0);
    }
    return 0;
}
