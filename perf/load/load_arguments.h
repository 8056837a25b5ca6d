/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of torc-perf-load.
 */
#ifndef TORC_PERF_LOAD_ARGUMENTS_H
#define TORC_PERF_LOAD_ARGUMENTS_H

#include "perf/load/load_ops.h"
#include "perf/load/load_run.h"

struct torc_load_arguments {
    const char *address;
    struct torc_shape shape; /* torc_shape_fini() is the caller's */
    struct torc_load_spec spec;
    struct torc_load_run_options run; /* requests 0: neither --requests nor --seconds was given */
    enum torc_load_wait wait;
    const char *wait_name;
    int cpu; /* -1: not pinned */
};

/* Parse; a mistake ends the process with status 2 and a message, --help and --version with 0.
 * Numbers are in range and what is missing has its default; that all of them go together is seen
 * by torc_load_ops_create(). */
void torc_load_arguments_parse(int argc, char **argv, struct torc_load_arguments *out);

#endif
