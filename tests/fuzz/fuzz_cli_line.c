/* SPDX-License-Identifier: Apache-2.0
 *
 * Any line: it is refused or gives words; words that are quoted again give the same words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/cli_line.h"
#include "tools/cli_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct torc_cli_line line;
    int rc = torc_cli_line_split((const char *)data, size, &line);
    REQUIRE(rc == 0 || rc == -EINVAL);
    if (rc != 0) {
        return 0;
    }
    REQUIRE(line.n_words <= size / 2 + 1);
    for (size_t i = 0; i < line.n_words && i < 100; i++) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        REQUIRE(out != NULL);
        struct torc_result result = {.kind = TORC_STRING, .string = line.words[i]};
        torc_cli_print(out, &result, false);
        REQUIRE(fclose(out) == 0);
        struct torc_cli_line again;
        REQUIRE(torc_cli_line_split(text, len, &again) == 0);
        REQUIRE(again.n_words == 1 && again.words[0].len == line.words[i].len);
        REQUIRE(memcmp(again.words[0].data, line.words[i].data, line.words[i].len) == 0);
        torc_cli_line_free(&again);
        free(text);
    }
    torc_cli_line_free(&line);
    return 0;
}
