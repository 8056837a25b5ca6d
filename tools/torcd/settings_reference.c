/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/torcd/settings_reference.h"

#include <inttypes.h>

#include "tools/torcd/settings.h"

void torc_settings_print_help(FILE *out)
{
    const struct torc_option_table *options = torc_settings_options();
    (void)fprintf(out,
                  "usage: torcd [CONFIG-FILE] [--name value ...]\n"
                  "       torcd --check-config [CONFIG-FILE] [--name value ...]\n"
                  "       torcd --help | --version\n\n"
                  "Serves hashes to processes of this host over shared-memory rings, and to\n"
                  "Redis clients. A config file has lines of `name value`, and `include FILE`;\n"
                  "an option behind it wins. --check-config reads all of it, says what is\n"
                  "wrong, and starts nothing.\n\n"
                  "options (default):\n");
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        if (option->alias_of != NULL) {
            (void)fprintf(out, "  --%s\n        the same as --%s\n", option->name,
                          option->alias_of);
            continue;
        }
        (void)fprintf(out, "  --%s", option->name);
        for (size_t w = 0; option->kind == TORC_OPTION_ENUM && option->words[w] != NULL; w++) {
            (void)fprintf(out, "%s%s", w == 0 ? " " : "|", option->words[w]);
        }
        (void)fprintf(out, " (%s)\n        %s\n",
                      option->initial[0] != '\0' ? option->initial : "\"\"", option->help);
    }
}

static void print_values(FILE *out, const struct torc_option *option)
{
    switch (option->kind) {
    case TORC_OPTION_BOOL:
        (void)fputs("yes, no", out);
        break;
    case TORC_OPTION_INT:
        (void)fprintf(out, "%" PRId64 " to %" PRId64, option->min, option->max);
        break;
    case TORC_OPTION_BYTES:
        (void)fputs("a size", out);
        if (option->max != 0) {
            char low[TORC_OPTION_SIZE_BYTES];
            char high[TORC_OPTION_SIZE_BYTES];
            torc_options_show_size((uint64_t)option->min, low);
            torc_options_show_size((uint64_t)option->max, high);
            (void)fprintf(out, " from %s to %s", low, high);
        }
        break;
    case TORC_OPTION_ENUM:
        for (size_t w = 0; option->words[w] != NULL; w++) {
            (void)fprintf(out, "%s%s", w == 0 ? "" : ", ", option->words[w]);
        }
        break;
    case TORC_OPTION_TEXT:
        (void)fprintf(out, "text, up to %zu bytes", option->size - 1);
        break;
    }
}

static void print_default(FILE *out, const struct torc_option *option)
{
    if (option->initial[0] == '\0') {
        (void)fputs("empty", out);
    } else {
        (void)fprintf(out, "`%s`", option->initial);
    }
}

/* A bar would end the cell. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        (void)fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
    }
}

static const char page_head[] =
    "# Settings of torcd\n"
    "\n"
    "`torcd --options-markdown` wrote this page from the table that the server itself reads. A "
    "test\n"
    "compares the two.\n"
    "\n"
    "## Where settings stand\n"
    "\n"
    "`torcd [CONFIG-FILE] [--name value ...]`: in a file, as flags, or both; a flag wins over the "
    "file.\n"
    "`CONFIG GET name` shows the value in force.\n"
    "\n"
    "## The file\n"
    "\n"
    "One setting a line, `name value`, in the grammar of redis.conf. Names may be written in "
    "either "
    "case;\n"
    "the last value of a name wins.\n"
    "\n"
    "| line | meaning |\n"
    "|---|---|\n"
    "| `port 6379` | a setting; blanks around both words do not count |\n"
    "| `# text` | a comment, when # is the first character of the line |\n"
    "| `logfile \"a b\\x41\\n\"` | in double quotes `\\n \\r \\t \\b \\a \\xHH \\\" \\\\` stand "
    "for one "
    "byte; other escapes are errors |\n"
    "| `logfile 'a \"b\"'` | in single quotes only `\\'` is special |\n"
    "| `include conf.d/site.conf` | the lines of that file, here |\n"
    "\n";

static const char page_include[] =
    "A path of `include` that does not start with `/` is taken from the folder of the file that "
    "the "
    "line is in.\n"
    "Includes may be %d deep and %d in number. A file that includes itself, over others too, is an "
    "error.\n"
    "A file has at most %d bytes.\n"
    "\n"
    "A size is a number with `b`, `kb`, `mb`, `gb` (1,024) or `k`, `m`, `g` (1,000) behind it, or\n"
    "nothing for bytes.\n"
    "\n"
    "## Checking\n"
    "\n"
    "`torcd --check-config [CONFIG-FILE] [--name value ...]` starts nothing. It prints "
    "`CONFIG-FILE: ok`\n"
    "and ends with 0, or prints every problem to standard error, `FILE:LINE: reason` with the name "
    "of the\n"
    "included file where that is meant, and ends with 1. The server refuses to start for the same\n"
    "problems, and names the first.\n"
    "\n"
    "## Settings\n"
    "\n"
    "| name | values | default | what it does |\n"
    "|---|---|---|---|\n";

static const char page_foot[] =
    "\n"
    "The default of `control-socket` depends on who starts the server: `" TORC_SETTINGS_RUN_FOLDER
    "/torc.sock`\n"
    "for root, `$XDG_RUNTIME_DIR/torc.sock` for others; without that variable it must be given.\n";

void torc_settings_print_markdown(FILE *out)
{
    const struct torc_option_table *options = torc_settings_options();
    (void)fputs(page_head, out);
    (void)fprintf(out, page_include, TORC_OPTION_DEPTH_MAX, TORC_OPTION_INCLUDES_MAX,
                  TORC_OPTION_FILE_BYTES);
    for (size_t i = 0; i < options->n; i++) {
        const struct torc_option *option = &options->table[i];
        (void)fprintf(out, "| `%s` | ", option->name);
        if (option->alias_of != NULL) {
            (void)fprintf(out, "| | another name of `%s` |\n", option->alias_of);
            continue;
        }
        print_values(out, option);
        (void)fputs(" | ", out);
        print_default(out, option);
        (void)fputs(" | ", out);
        print_cell(out, option->help);
        (void)fputs(" |\n", out);
    }
    (void)fputs(page_foot, out);
}
