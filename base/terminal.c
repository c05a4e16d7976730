/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MIN = 40 };

static bool is_terminal(FILE *out)
{
    return out == stdout && isatty(STDOUT_FILENO) != 0;
}

static bool terminal_size(FILE *out, struct winsize *size)
{
    return is_terminal(out) && ioctl(STDOUT_FILENO, TIOCGWINSZ, size) == 0 && size->ws_col > 0;
}

size_t terminal_columns(FILE *out)
{
    const char *typed = getenv("COLUMNS");
    struct winsize size;
    unsigned long n = 0;
    if (out != stdout)
        return TERMINAL_ANY;
    if (typed != NULL && typed[0] >= '1' && typed[0] <= '9')
        n = strtoul(typed, NULL, 10);
    else if (terminal_size(out, &size))
        n = size.ws_col;
    return n == 0 ? TERMINAL_ANY : n < COLUMNS_MIN ? COLUMNS_MIN : n;
}

size_t terminal_screen_columns(FILE *out)
{
    const size_t columns = terminal_columns(out);
    return columns == TERMINAL_ANY ? TERMINAL_USUAL : columns;
}

size_t terminal_rows(FILE *out)
{
    struct winsize size;
    return terminal_size(out, &size) ? size.ws_row : 0;
}

bool terminal_has_bold(FILE *out)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return is_terminal(out) && term != NULL && strcmp(term, "dumb") != 0 && (no_color == NULL || no_color[0] == '\0');
}

void terminal_bold(FILE *out, bool is_on)
{
    fflush(out);
    dprintf(STDOUT_FILENO, "%s", is_on ? "\033[1m" : "\033[0m");
}
