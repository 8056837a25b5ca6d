/* SPDX-License-Identifier: Apache-2.0
 *
 * One JSON object on one line, member by member, as the measuring programs print their results.
 * Bytes of a text that are not printable ASCII come out escaped as \u00XX, so that any bytes make
 * a valid line. Threads: one at a time. Write errors show at torc_json_line_end().
 */
#ifndef TORC_PERF_JSON_LINE_H
#define TORC_PERF_JSON_LINE_H

#include <stdio.h>

#include "core/histogram.h"

struct torc_json_line {
    FILE *out; /* borrowed */
    bool has_members;
};

/* Begin an object. Names of members below are C strings that need no escapes. */
void torc_json_line_begin(struct torc_json_line *line, FILE *out);

/* End it with a newline and flush. 0; -EPIPE when something could not be written. */
int torc_json_line_end(struct torc_json_line *line) TORC_MUST_USE;

/* `text` NULL is null. */
void torc_json_line_text(struct torc_json_line *line, const char *name, const char *text);
void torc_json_line_count(struct torc_json_line *line, const char *name, uint64_t count);
/* With so many digits behind the point; what is not finite is null. */
void torc_json_line_number(struct torc_json_line *line, const char *name, double number,
                           int decimals);
void torc_json_line_null(struct torc_json_line *line, const char *name);

/* A member that is an object: members up to torc_json_line_close() are its own. */
void torc_json_line_open(struct torc_json_line *line, const char *name);
void torc_json_line_close(struct torc_json_line *line);

/* Members min, p50, p90, p99, p999, max of a histogram; nothing if it is empty. */
void torc_json_line_percentiles(struct torc_json_line *line,
                                const struct torc_histogram *histogram);

#endif
