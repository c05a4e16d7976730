/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Recognises what Python, PyTorch and the hubs print for an input that is missing. */
#include "replay/program/program_failure.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_BYTES = 65536 };

#define HUB  "It wanted weights or data from a hub. Their values do not matter here, only their shapes: build the " \
             "model from its configuration (from_config instead of from_pretrained), or fetch them once beforehand."
#define NET  "It wanted something from the network. Fetch it once beforehand, or let the program make up random data " \
             "of the same shapes: values do not matter here."
#define DATA "A file that it reads is missing. Its contents do not matter here, only the shapes: give it a file of " \
             "zeros of the same size, or let it make up random tensors."
#define SAFE "It wanted to write a file of another user or group, which the overlay that keeps its files safe cannot " \
             "copy: make the file yours (chgrp), or use --no-overlay."
#define SHUT "It wanted to write where no overlay keeps its files safe, which is read-only meanwhile: let it write " \
             "to another folder, or use --no-overlay."
#define CODE "A package that it imports is missing: install it for the Python that runs the program."

/* The most telling first: a hub's error is often followed by a missing file. */
static const struct { const char *text, *advice; } reasons[] = {
    { "LocalEntryNotFoundError", HUB }, { "OfflineModeIsEnabled", HUB }, { "RepositoryNotFoundError", HUB },
    { "HfHubHTTPError", HUB }, { "huggingface.co", HUB }, { "URLError", NET }, { "Max retries exceeded", NET },
    { "name resolution", NET }, { "Name or service not known", NET }, { "ConnectionError", NET },
    { "Value too large for defined data type", SAFE }, { "Read-only file system", SHUT },
    { "ModuleNotFoundError", CODE },
    { "FileNotFoundError", DATA }, { "No such file or directory", DATA },
};

/* Copies the line around text[at]. */
static void take_line(const char *text, size_t at, struct program_failure *out)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    snprintf(out->line, sizeof out->line, "%.*s", (int)strcspn(text + at, "\r\n"), text + at);
}

/* The last line that is not empty. */
static void take_last_line(const char *text, size_t n, struct program_failure *out)
{
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    if (n > 0)
        take_line(text, n - 1, out);
}

void program_failure_read(const char *log, struct program_failure *out)
{
    static const size_t n_reasons = sizeof reasons / sizeof reasons[0];
    char text[TAIL_BYTES + 1];
    size_t n = 0;
    FILE *f = fopen(log, "rb");
    *out = (struct program_failure){ .advice = NULL };
    if (f != NULL) {
        if (fseek(f, -TAIL_BYTES, SEEK_END) != 0)
            rewind(f);
        n = fread(text, 1, TAIL_BYTES, f);
        fclose(f);
    }
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)               /* so that text ends where it was read to */
        if (text[i] == '\0')
            text[i] = ' ';
    take_last_line(text, n, out);
    for (size_t i = 0; i < n_reasons && out->advice == NULL; i++) {
        const char *found = strstr(text, reasons[i].text);
        if (found == NULL)
            continue;
        take_line(text, (size_t)(found - text), out);
        out->advice = reasons[i].advice;
    }
}
