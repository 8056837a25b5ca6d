/* SPDX-License-Identifier: Apache-2.0
 *
 * The config grammar. Beside staying inside its memory, a refused text must leave the settings as
 * they were, with a message; and of an accepted one, every value printed must be taken back and
 * print the same.
 */
#include "core/options.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings;
    static struct settings before;
    char error[TORC_OPTION_ERROR_BYTES] = "";
    torc_options_init(&options, &settings);
    memcpy(&before, &settings, sizeof before);

    int rc = torc_options_parse(&options, &settings, "f", (const char *)data, size, error);
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
