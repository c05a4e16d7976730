/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A tool of the build: makes one C file of files that are part of the program.
 *
 *     embed OUT text NAME FILE packed NAME FILE ...
 *
 * Each file becomes `const unsigned char NAME[]`, ended by a zero: its text, or the text deflated and in base 85
 * (packed_columns.h). What points at a source map is left out, because the page asks for no other file.
 */
#include "base/array.h"
#include "report/page/packed_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_A_LINE = 24 };

static _Noreturn void give_up(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s: %s\n", name, what);
    exit(EXIT_FAILURE);
}

/* The text of a file; free() it. */
static char *file_text(const char *path)
{
    char *text = NULL;
    size_t n = 0, room = 0;
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        give_up("cannot be read", path);
    for (int byte = 0; byte != EOF; n++) {
        char *grown = array_grow(text, n, &room, 1);
        if (grown == NULL)
            give_up("no memory to read it", path);
        text = grown;
        byte = fgetc(in);
        text[n] = byte == EOF ? '\0' : (char)byte;
    }
    if (ferror(in))
        give_up("cannot be read", path);
    fclose(in);
    return text;
}

static void cut_source_map(char *text)
{
    static const char *const marks[] = { "//# sourceMappingURL", "/*# sourceMappingURL" };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        char *at = strstr(text, marks[i]);
        if (at != NULL)
            *at = '\0';
    }
}

static char *packed(const char *text, const char *name)
{
    struct packed_columns p = { .at = NULL };
    char *out;
    size_t n;
    packed_put_bytes(&p, text, strlen(text));
    if (packed_finish(&p, &out, &n) != ERR_OK)
        give_up("no memory to pack it", name);
    return out;
}

static void put_part(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\nextern const unsigned char %s[];\nconst unsigned char %s[] = {", name, name);
    for (size_t i = 0; text[i] != '\0'; i++)
        fprintf(out, "%s%u,", i % BYTES_A_LINE == 0 ? "\n" : "", (unsigned)(unsigned char)text[i]);
    fputs("0};\n", out);
}

int main(int argc, char **argv)
{
    FILE *out = argc % 3 == 2 ? fopen(argv[1], "wb") : NULL;
    if (out == NULL)
        give_up("usage: embed OUT [text|packed NAME FILE]...", argc > 1 ? argv[1] : "");
    fputs("/* Made by embed/embed.c. */\n", out);
    for (int i = 2; i < argc; i += 3) {
        char *text = file_text(argv[i + 2]), *part = text;
        cut_source_map(text);
        if (strcmp(argv[i], "packed") == 0)
            part = packed(text, argv[i + 1]);
        put_part(out, argv[i + 1], part);
        if (part != text)
            free(part);
        free(text);
    }
    if (ferror(out) || fclose(out) != 0)
        give_up("cannot be written", argv[1]);
    return EXIT_SUCCESS;
}
