/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of a user: fails to attach where nobody listens, as it should.
 */
#include <stdio.h>

#include <torc/torc.h>

int main(void)
{
    struct torc_options options = {.socket = "/nowhere/torc.sock"};
    struct torc *torc;
    const char *why;
    int rc = torc_open(&options, &torc, &why);
    printf("%s %s: %s\n", torc_version(), torc_error_name(rc), why);
    return rc == TORC_ENOENT ? 0 : 1;
}
