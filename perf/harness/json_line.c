/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/harness/json_line.h"

#include <inttypes.h>
#include <math.h>

static void write_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            (void)fprintf(out, "\\%c", *c);
        } else if (*c < ' ' || *c > '~') {
            (void)fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        } else {
            (void)fputc(*c, out);
        }
    }
    (void)fputc('"', out);
}

static void write_name(struct torc_json_line *line, const char *name)
{
    (void)fprintf(line->out, "%s\"%s\":", line->has_members ? "," : "", name);
    line->has_members = true;
}

void torc_json_line_begin(struct torc_json_line *line, FILE *out)
{
    *line = (struct torc_json_line){.out = out};
    (void)fputc('{', out);
}

int torc_json_line_end(struct torc_json_line *line)
{
    (void)fputs("}\n", line->out);
    return fflush(line->out) == 0 && ferror(line->out) == 0 ? 0 : -EPIPE;
}

void torc_json_line_text(struct torc_json_line *line, const char *name, const char *text)
{
    write_name(line, name);
    if (text == NULL) {
        (void)fputs("null", line->out);
    } else {
        write_text(line->out, text);
    }
}

void torc_json_line_count(struct torc_json_line *line, const char *name, uint64_t count)
{
    write_name(line, name);
    (void)fprintf(line->out, "%" PRIu64, count);
}

void torc_json_line_number(struct torc_json_line *line, const char *name, double number,
                           int decimals)
{
    if (!isfinite(number)) {
        torc_json_line_null(line, name);
        return;
    }
    write_name(line, name);
    (void)fprintf(line->out, "%.*f", decimals, number);
}

void torc_json_line_null(struct torc_json_line *line, const char *name)
{
    torc_json_line_text(line, name, NULL);
}

void torc_json_line_open(struct torc_json_line *line, const char *name)
{
    write_name(line, name);
    (void)fputc('{', line->out);
    line->has_members = false;
}

void torc_json_line_close(struct torc_json_line *line)
{
    (void)fputc('}', line->out);
    line->has_members = true;
}

void torc_json_line_percentiles(struct torc_json_line *line, const struct torc_histogram *histogram)
{
    static const struct {
        const char *name;
        double percent;
    } points[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}};
    if (histogram->count == 0) {
        return;
    }
    torc_json_line_count(line, "min", histogram->min);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        torc_json_line_count(line, points[i].name,
                             torc_histogram_percentile(histogram, points[i].percent));
    }
    torc_json_line_count(line, "max", histogram->max);
}
