/* SPDX-License-Identifier: Apache-2.0
 *
 * On libedit, which reads ~/.editrc for those who like other keys.
 */
#include "tools/cli_prompt.h"

#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "tools/cli_help.h"
#include "tools/cli_history.h"
#include "tools/cli_line.h"

#define LIST_WIDTH 78 /* columns of a list of names */

struct prompt {
    struct torc_cli *cli;
    EditLine *editor;
    History *lines; /* of this session and, from the file, earlier ones */
    struct torc_cli_history file;
    bool is_cancelled; /* the line that was typed */
    bool is_attached;
    uint64_t epoch; /* of the server attached last */
    char hint[TORC_CLI_HINT_BYTES];
};

/* --- what libedit asks for --- */

/* The function types are libedit's. */
static char *prompt_text(EditLine *editor)
{
    static char text[] = "torc> ";
    (void)editor;
    return text;
}

static struct prompt *prompt_of(EditLine *editor)
{
    void *prompt = NULL;
    (void)el_get(editor, EL_CLIENTDATA, &prompt);
    return prompt;
}

static char *hint_text(EditLine *editor)
{
    struct prompt *prompt = prompt_of(editor);
    const LineInfo *line = el_line(editor);
    torc_cli_hint(line->buffer, (size_t)(line->lastchar - line->buffer), prompt->hint);
    return prompt->hint;
}

/* Arguments change with a blank, and an inserted character alone draws no prompt. */
static unsigned char insert_blank(EditLine *editor, int key)
{
    (void)key;
    return el_insertstr(editor, " ") == 0 ? CC_REFRESH : CC_ERROR;
}

static char cased(char c, bool upper)
{
    return (char)(upper && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* The names in columns, below the line. */
static void list_names(const struct torc_cli_completion *completion)
{
    size_t width = 1;
    for (size_t i = 0; i < completion->n; i++) {
        width = torc_max_u64(width, completion->name_len[i] + 2);
    }
    size_t in_row = LIST_WIDTH / width;
    for (size_t i = 0; i < completion->n; i++) {
        (void)fputs(i % in_row == 0 ? "\n" : "", stdout);
        for (size_t c = 0; c < width; c++) {
            bool inside = c < completion->name_len[i];
            (void)putchar(inside ? cased(completion->names[i][c], true) : ' ');
        }
    }
    (void)putchar('\n');
    (void)fflush(stdout);
}

static unsigned char complete(EditLine *editor, int key)
{
    (void)key;
    const LineInfo *line = el_line(editor);
    size_t len = (size_t)(line->cursor - line->buffer);
    struct torc_cli_completion completion;
    torc_cli_complete(line->buffer, len, &completion);
    if (completion.n == 0) {
        return CC_REFRESH_BEEP;
    }
    bool is_whole = completion.n == 1;
    if (completion.common == completion.word_len && !is_whole) {
        list_names(&completion);
        return CC_REDISPLAY;
    }
    /* Go on in the case that the word has so far. */
    bool upper = completion.word_len == 0 || line->cursor[-1] < 'a' || line->cursor[-1] > 'z';
    char more[2 * TORC_OP_NAME_BYTES];
    size_t n = 0;
    for (size_t i = completion.word_len; i < completion.common; i++) {
        more[n++] = cased(completion.names[0][i], upper);
    }
    if (is_whole) {
        more[n++] = ' ';
    }
    more[n] = '\0';
    return el_insertstr(editor, more) == 0 ? CC_REFRESH : CC_ERROR;
}

/* While a line is typed Ctrl-C and Ctrl-Z are keys, not signals: a signal that comes just before
 * the wait for the next key would not end it. */
static unsigned char cancel(EditLine *editor, int key)
{
    (void)key;
    prompt_of(editor)->is_cancelled = true;
    return CC_NEWLINE;
}

/* libedit's own handler gives the terminal back and takes it again. */
static unsigned char suspend(EditLine *editor, int key)
{
    (void)editor;
    (void)key;
    return raise(SIGTSTP) == 0 ? CC_REDISPLAY : CC_ERROR;
}

/* --- set up --- */

static bool open_editor(struct prompt *prompt)
{
    EditLine *editor = el_init("torc-cli", stdin, stdout, stderr);
    prompt->editor = editor;
    if (editor == NULL) {
        return false;
    }
    (void)el_set(editor, EL_CLIENTDATA, prompt);
    (void)el_set(editor, EL_PROMPT, prompt_text);
    (void)el_set(editor, EL_RPROMPT, hint_text);
    (void)el_set(editor, EL_EDITOR, "emacs");
    (void)el_set(editor, EL_SIGNAL, 1);
    (void)el_set(editor, EL_SETTY, "-d", "-isig", NULL);
    (void)el_set(editor, EL_HIST, history, prompt->lines);
    /* Wide, because libedit copies narrow names and never frees them. */
    (void)el_wset(editor, EL_ADDFN, L"torc-complete", L"Complete the name of a command", complete);
    (void)el_wset(editor, EL_ADDFN, L"torc-blank", L"Insert a blank", insert_blank);
    (void)el_wset(editor, EL_ADDFN, L"torc-cancel", L"Drop the line", cancel);
    (void)el_wset(editor, EL_ADDFN, L"torc-suspend", L"Suspend", suspend);
    (void)el_source(editor, NULL);
    (void)el_set(editor, EL_BIND, "\t", "torc-complete", NULL);
    (void)el_set(editor, EL_BIND, " ", "torc-blank", NULL);
    (void)el_set(editor, EL_BIND, "^C", "torc-cancel", NULL);
    (void)el_set(editor, EL_BIND, "^Z", "torc-suspend", NULL);
    return true;
}

static void remember(void *arg, const char *line)
{
    const struct prompt *prompt = arg;
    HistEvent event;
    (void)history(prompt->lines, &event, H_ENTER, line);
}

static bool open_history(struct prompt *prompt)
{
    HistEvent event;
    prompt->lines = history_init();
    if (prompt->lines == NULL ||
        history(prompt->lines, &event, H_SETSIZE, TORC_CLI_HISTORY_LINES) < 0) {
        return false;
    }
    (void)history(prompt->lines, &event, H_SETUNIQUE, 1);
    char *path = torc_cli_history_path();
    int rc = torc_cli_history_open(&prompt->file, path, remember, prompt);
    if (rc != 0) {
        torc_cli_complain("no history: %s: %s", path, strerror(-rc));
    }
    free(path);
    return true;
}

/* --- lines --- */

/* A line from the person, without its end, from malloc(). NULL: cancelled, or *out_ends the end. */
static char *read_line(struct prompt *prompt, bool *out_ends)
{
    int len = 0;
    prompt->is_cancelled = false;
    /* libedit would show the prompt first, and lose a key that comes in between. */
    (void)el_set(prompt->editor, EL_PREP_TERM, 1);
    const char *text = el_gets(prompt->editor, &len);
    if (text == NULL || prompt->is_cancelled) {
        (void)putchar('\n');
        *out_ends = !prompt->is_cancelled;
        return NULL;
    }
    char *line = strndup(text, (size_t)len - (len > 0 && text[len - 1] == '\n'));
    if (line == NULL) {
        torc_cli_complain("out of memory");
    }
    return line;
}

/* Attach again if the server went away. */
static bool attach(struct prompt *prompt)
{
    struct torc *torc = prompt->cli->torc;
    if (prompt->is_attached) {
        return true;
    }
    if (torc_reattach(torc) != TORC_OK) {
        torc_cli_complain("%s", torc_error_text(torc));
        return false;
    }
    bool is_other = torc_epoch(torc) != prompt->epoch;
    torc_cli_complain("attached again%s", is_other ? ", to a server that was started anew" : "");
    prompt->epoch = torc_epoch(torc);
    prompt->is_attached = true;
    return true;
}

static void help(const struct torc_cli_line *line)
{
    struct torc_bytes word = line->n_words > 1 ? line->words[1] : torc_str("");
    if (!torc_cli_print_help(stdout, word.data, word.len)) {
        torc_cli_complain("no such command");
    } else if (line->n_words == 1) {
        (void)puts("\nTAB completes a name, Ctrl-C drops the line, quit or Ctrl-D leaves.");
    }
}

/* True: it was the last line. */
static bool run_line(struct prompt *prompt, const struct torc_cli_line *line)
{
    if (torc_cli_line_says(line, "quit") || torc_cli_line_says(line, "exit")) {
        return true;
    }
    if (torc_cli_line_says(line, "help")) {
        help(line);
        return false;
    }
    /* What was never sent may be sent to the next server; what was sent is not repeated. */
    if (attach(prompt) && torc_cli_run(prompt->cli, line->words, line->n_words) == TORC_CLI_LOST) {
        prompt->is_attached = false;
        (void)attach(prompt);
    }
    return false;
}

/* Split a line, remember and run it. True: it was the last. */
static bool take_line(struct prompt *prompt, const char *text)
{
    struct torc_cli_line line;
    int rc = torc_cli_line_split(text, strlen(text), &line);
    if (rc == 0 && line.n_words == 0) {
        torc_cli_line_free(&line);
        return false;
    }
    remember(prompt, text);
    torc_cli_history_add(&prompt->file, text);
    if (rc != 0) {
        torc_cli_complain("%s", rc == -EINVAL ? "quotes do not match" : "out of memory");
        return false;
    }
    bool ends = run_line(prompt, &line);
    torc_cli_line_free(&line);
    return ends;
}

bool torc_cli_prompt(struct torc_cli *cli)
{
    struct prompt prompt = {
        .cli = cli, .file = {-1}, .is_attached = true, .epoch = torc_epoch(cli->torc)};
    (void)setlocale(LC_CTYPE, "");
    bool works = open_history(&prompt) && open_editor(&prompt);
    if (!works) {
        torc_cli_complain("no memory for a prompt");
    }
    for (bool ends = !works; !ends;) {
        (void)fflush(stdout);
        char *text = read_line(&prompt, &ends);
        if (text != NULL) {
            ends = take_line(&prompt, text);
        }
        free(text);
    }
    torc_cli_history_close(&prompt.file);
    if (prompt.editor != NULL) {
        el_end(prompt.editor);
    }
    if (prompt.lines != NULL) {
        history_end(prompt.lines);
    }
    return works;
}
