/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads one file of delimited text, a hash per row, or reads the hashes back and compares them with
 * the file. Problems with rows are told on standard error as "file:line: what".
 */
#ifndef TORC_TOOLS_LOAD_FILE_H
#define TORC_TOOLS_LOAD_FILE_H

#include "core/base.h"
#include "tools/road.h"

#define TORC_LOAD_PIPELINE_MAX 65536u

struct torc_load_options {
    char delimiter;
    const char *fields;       /* names of the columns, separated by commas; NULL: the first row */
    const char *key;          /* column; NULL: the row's number, from 1 */
    const char *key_template; /* NULL: '<file name without folder and extension>:{key}' */
    uint64_t limit;           /* rows of each file; UINT64_MAX: all */
    size_t pipeline;          /* requests outstanding, 1..TORC_LOAD_PIPELINE_MAX */
    bool skip_empty;          /* leave empty cells out */
    bool keep_going;          /* a faulty row is told, counted and left out */
    bool faults_told;         /* malformed rows were told before: only count them */
    bool progress;
};

/* Added up over files. */
struct torc_load_totals {
    uint64_t rows;       /* acknowledged, or compared */
    uint64_t fields;     /* in them */
    uint64_t existing;   /* rows of which the server had some fields already */
    uint64_t blank;      /* rows left out because all their cells are empty (skip_empty) */
    uint64_t faulty;     /* rows left out: malformed, or refused by the server */
    uint64_t mismatched; /* rows that came back differently */
};

/* Load `path` over `road`. 0 when the whole file was gone through (look at totals->faulty);
 * -EBADMSG when it was given up, with the reason on standard error. Replies of what was sent before
 * are still counted, unless the road itself failed. */
int torc_load_file(struct torc_road *road, const char *path,
                   const struct torc_load_options *options,
                   struct torc_load_totals *totals) TORC_MUST_USE;

/* Read the hashes of `path` back and compare, byte for byte; a difference is told (the first ones
 * in full) and counted, and the comparison goes on. Same results. */
int torc_load_verify_file(struct torc_road *road, const char *path,
                          const struct torc_load_options *options,
                          struct torc_load_totals *totals) TORC_MUST_USE;

#endif
