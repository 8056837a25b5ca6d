/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files of its corpus, for compilers without libFuzzer. Fails when the
 * corpus is empty.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return 0;
    }
    static uint8_t buffer[1u << 20];
    size_t len = fread(buffer, 1, sizeof buffer, file);
    (void)fclose(file);
    /* An exact-size heap copy, so that the address sanitizer sees one byte too far. */
    uint8_t *copy = malloc(len + (len == 0));
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, buffer, len);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
    return 1;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] != '.' &&
                snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name) < (int)sizeof path) {
                n += replay_file(path);
            }
        }
        (void)closedir(folder);
    }
    printf("%d inputs replayed\n", n);
    return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
