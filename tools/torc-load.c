/* SPDX-License-Identifier: Apache-2.0
 *
 * torc-load: loads delimited text, one hash per row. Options, the order of work, and the summary;
 * the work itself is in load_file.c.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "tools/load_file.h"
#include "tools/numbers.h"
#include "tools/road.h"

#define TIMEOUT_NS       30000000000ull
#define PIPELINE_DEFAULT 1024
#define AREA_BYTES       1048576u /* a full pipeline of rows of 1,000 bytes */

/* Read by argp inside libc. */
__attribute__((visibility("default"))) const char *argp_program_version = "torc-load " TORC_VERSION;

static const char doc[] =
    "Loads delimited text into a torc server, one hash per row: the columns are its fields."
    "\v"
    "Files follow RFC 4180: cells may be quoted, a quote inside quotes is doubled, lines end with "
    "LF "
    "or CRLF. All rows have the same number of cells; empty cells become empty values. A malformed "
    "row stops the load (see --keep-going) with its line number.\n"
    "\n"
    "In a key template {name} stands for the cell of that column, {key} for the cell of the key "
    "column or the row's number, {{ and }} for braces. Rows are numbered from 1, malformed ones "
    "not "
    "counted.\n"
    "\n"
    "Ends with 0 when every row was stored (and came back the same, with --verify), else with 1.";

enum {
    OPTION_RESP = 1000,
    OPTION_LIMIT,
    OPTION_PIPELINE,
    OPTION_SKIP_EMPTY,
    OPTION_KEEP_GOING,
    OPTION_VERIFY,
    OPTION_VERIFY_ONLY,
    OPTION_NO_PROGRESS,
    OPTION_KEY_TEMPLATE
};

static const struct argp_option argp_options[] = {
    {.doc = "Server (default: the ring of the usual control socket)"},
    {"control-socket", 'c', "PATH", 0, "load over the ring of this control socket", 0},
    {"resp", OPTION_RESP, "ADDRESS", 0,
     "load over RESP: unix:/path, host:port or port; works with Redis too", 0},
    {"pipeline", OPTION_PIPELINE, "N", 0, "requests under way at a time (default 1024)", 0},
    {.doc = "Input"},
    {"delimiter", 'd', "C", 0, "character between cells (default ','; \\t is a tab)", 0},
    {"fields", 'f', "A,B,C", 0, "names of the columns; the default takes them from the first row",
     0},
    {"limit", OPTION_LIMIT, "N", 0, "load the first N rows of each file", 0},
    {"skip-empty", OPTION_SKIP_EMPTY, NULL, 0, "do not store empty cells", 0},
    {"keep-going", OPTION_KEEP_GOING, NULL, 0, "leave faulty rows out and go on; still ends with 1",
     0},
    {.doc = "Keys"},
    {"key", 'k', "COLUMN", 0, "column that names the row (default: the row's number)", 0},
    {"key-template", OPTION_KEY_TEMPLATE, "TEXT", 0,
     "name of the hash (default '<file name without extension>:{key}')", 0},
    {.doc = "Output"},
    {"verify", OPTION_VERIFY, NULL, 0,
     "after loading read every row back over the same road and compare it byte for byte", 0},
    {"verify-only", OPTION_VERIFY_ONLY, NULL, 0, "compare without loading", 0},
    {"no-progress", OPTION_NO_PROGRESS, NULL, 0,
     "no progress bar (there is none either when standard error is not a terminal)", 0},
    {0},
};

struct arguments {
    struct torc_load_options load;
    const char *socket;
    const char *resp;
    bool verify;
    bool verify_only;
    char **files;
    int n_files;
};

static uint64_t parse_count(const struct argp_state *state, const char *name, const char *text,
                            uint64_t max)
{
    uint64_t n = 0;
    if (!torc_number_parse(text, 1, max, &n)) {
        argp_error(state, "%s: '%s' is not a number from 1 to %" PRIu64, name, text, max);
    }
    return n;
}

static char parse_delimiter(const struct argp_state *state, const char *text)
{
    if (strcmp(text, "\\t") == 0) {
        return '\t';
    }
    if (strlen(text) != 1 || strchr("\"\r\n", text[0]) != NULL) {
        argp_error(state, "--delimiter: one character, not a quote or line end; \\t for a tab");
    }
    return text[0];
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->socket = arg;
        break;
    case OPTION_RESP:
        arguments->resp = arg;
        break;
    case OPTION_PIPELINE:
        arguments->load.pipeline =
            (size_t)parse_count(state, "--pipeline", arg, TORC_LOAD_PIPELINE_MAX);
        break;
    case 'd':
        arguments->load.delimiter = parse_delimiter(state, arg);
        break;
    case 'f':
        arguments->load.fields = arg;
        break;
    case OPTION_LIMIT:
        arguments->load.limit = parse_count(state, "--limit", arg, UINT64_MAX);
        break;
    case OPTION_SKIP_EMPTY:
        arguments->load.skip_empty = true;
        break;
    case OPTION_KEEP_GOING:
        arguments->load.keep_going = true;
        break;
    case 'k':
        arguments->load.key = arg;
        break;
    case OPTION_KEY_TEMPLATE:
        arguments->load.key_template = arg;
        break;
    case OPTION_VERIFY:
        arguments->verify = true;
        break;
    case OPTION_VERIFY_ONLY:
        arguments->verify_only = true;
        break;
    case OPTION_NO_PROGRESS:
        arguments->load.progress = false;
        break;
    case ARGP_KEY_ARGS:
        arguments->files = state->argv + state->next;
        arguments->n_files = state->argc - state->next;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file to load");
        break;
    case ARGP_KEY_END:
        if (arguments->socket != NULL && arguments->resp != NULL) {
            argp_error(state, "--control-socket and --resp exclude each other");
        }
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static struct torc_road *open_road(const struct arguments *arguments)
{
    struct torc_road_options options = {
        .window = arguments->load.pipeline,
        .timeout_ns = TIMEOUT_NS,
        .area_bytes = AREA_BYTES,
        .name = "torc-load",
    };
    struct torc_road *road = NULL;
    char error[TORC_ROAD_ERROR_BYTES];
    int rc = arguments->resp != NULL
                 ? torc_road_open_resp(arguments->resp, &options, &road, error)
                 : torc_road_open_ring(arguments->socket, &options, &road, error);
    if (rc != 0) {
        (void)fprintf(stderr, "torc-load: %s\n", error);
    }
    return road;
}

/* "1 row", "2 rows" */
static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* False, with a message: standard output did not take it. */
static bool print_totals(const struct torc_load_totals *totals, uint64_t ns, const char *verb,
                         const char *road)
{
    errno = 0;
    printf("%" PRIu64 " row%s, %" PRIu64 " field%s%s in %.2f s: %s rows/s over %s\n", totals->rows,
           plural(totals->rows), totals->fields, plural(totals->fields), verb, (double)ns / 1e9,
           torc_number_rate(totals->rows, ns).text, road);
    if (totals->existing > 0) {
        printf("%" PRIu64 " row%s replaced fields that were there already\n", totals->existing,
               plural(totals->existing));
    }
    if (totals->blank > 0) {
        printf("%" PRIu64 " row%s left out: all cells empty\n", totals->blank,
               plural(totals->blank));
    }
    if (totals->faulty > 0) {
        printf("%" PRIu64 " row%s left out: faulty\n", totals->faulty, plural(totals->faulty));
    }
    if (totals->mismatched > 0) {
        printf("%" PRIu64 " row%s differ%s\n", totals->mismatched, plural(totals->mismatched),
               totals->mismatched == 1 ? "s" : "");
    }
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "torc-load: standard output: %s\n", strerror(errno));
        return false;
    }
    return true;
}

/* Go through all files, up to the first that is given up. True: all went well. */
static bool run_files(const struct arguments *arguments, struct torc_road *road, bool verify,
                      struct torc_load_totals *totals)
{
    uint64_t start = torc_clock_monotonic_ns();
    bool good = true;
    for (int i = 0; i < arguments->n_files && good; i++) {
        const char *path = arguments->files[i];
        int rc = verify ? torc_load_verify_file(road, path, &arguments->load, totals)
                        : torc_load_file(road, path, &arguments->load, totals);
        good = rc == 0;
    }
    uint64_t ns = torc_clock_monotonic_ns() - start;
    bool told = print_totals(totals, ns, verify ? " compared" : "", road->name);
    return told && good && totals->faulty == 0 && totals->mismatched == 0;
}

/* Rows of the files, whatever became of them. */
static uint64_t n_read(const struct torc_load_totals *totals)
{
    return totals->rows + totals->blank + totals->faulty;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {
        .load = {.delimiter = ',',
                 .limit = UINT64_MAX,
                 .pipeline = PIPELINE_DEFAULT,
                 .progress = true},
    };
    static const struct argp argp = {argp_options, parse_option, "FILE...", doc, NULL, NULL, NULL};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
        return EXIT_FAILURE;
    }
    struct torc_road *road = open_road(&arguments);
    if (road == NULL) {
        return EXIT_FAILURE;
    }
    struct torc_load_totals loaded = {0};
    struct torc_load_totals compared = {0};
    bool good = true;
    if (!arguments.verify_only) {
        good = run_files(&arguments, road, false, &loaded);
    }
    /* With faulty rows left out on purpose, the others can be compared all the same. */
    if (arguments.verify_only || (arguments.verify && (good || arguments.load.keep_going))) {
        arguments.load.faults_told = !arguments.verify_only;
        good = run_files(&arguments, road, true, &compared) && good;
        if (!arguments.verify_only && n_read(&compared) != n_read(&loaded)) {
            (void)fprintf(stderr, "torc-load: a file changed between loading and comparing\n");
            good = false;
        }
    }
    torc_road_close(road);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
