/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Recognises what Python, PyTorch and the hubs print for an input that is missing. */
#include "dryrun/program_failure.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_BYTES = 65536 };

#define HUB  "It wanted weights or data from a hub. Their values do not matter here, only their shapes: build the " \
             "model from its configuration (from_config instead of from_pretrained), or fetch them once beforehand."
#define NET  "It wanted something from the network. Fetch it once beforehand, or let the program make up random data " \
             "of the same shapes: values do not matter here."
#define SHAPES " Its contents do not matter here, only the shapes."
#define LOADS  " is missing. What stands in for it must be one that loads: "
#define DATA "A file that it reads" LOADS "the same form with other contents, or random tensors in its place." SHAPES
#define WEIGHTS "A checkpoint" LOADS "make the model and torch.save(model.state_dict(), FILE), in the form that the " \
                "program reads." SHAPES
#define TENSORS "A checkpoint" LOADS "make the model and safetensors.torch.save_file(model.state_dict(), FILE)." SHAPES
#define PICKLE "A pickle" LOADS "pickle.dump() of an object of the same form." SHAPES
#define TABLE "A table" LOADS "pandas.DataFrame({...}).to_parquet(FILE) or the like, with the same columns." SHAPES
#define ARRAY "An array" LOADS "numpy.save(FILE, numpy.zeros(shape, dtype))." SHAPES
#define LINES "A file that it reads" LOADS "lines of the same form, as many as a few batches need." SHAPES
#define BROKEN "A file that it reads does not load. Zeros stand in for raw numbers alone; for a checkpoint, a pickle " \
               "or a table make one of the same form (torch.save, pickle.dump, to_parquet)." SHAPES
#define NAME "The script is not there: its name is taken from the working folder."
#define SAFE "It wanted to write a file of another user or group, which the overlay that keeps its files safe cannot " \
             "copy: make the file yours (chgrp), or use --no-overlay."
#define SHUT "It wanted to write where no overlay keeps its files safe, which is read-only meanwhile: let it write " \
             "to another folder, or use --no-overlay."
#define CARD "It asked for a card that is not there: simulate as many as it uses, as in --device 24GiB,count=2."
#define MIXED "Install JAX's parts of one release: pip install -U \"jax[cuda13]\", or cuda12."
#define CODE "A package that it imports is missing: install it for the Python that runs the program."

static const char missing[] = DATA;

/* The most telling first: a hub's error is often followed by a missing file. */
struct reason {
    const char *text, *advice;
};

static const struct reason reasons[] = {
    { "invalid device ordinal", CARD },
    { "LocalEntryNotFoundError", HUB }, { "OfflineModeIsEnabled", HUB }, { "RepositoryNotFoundError", HUB },
    { "HfHubHTTPError", HUB }, { "huggingface.co", HUB }, { "URLError", NET }, { "Max retries exceeded", NET },
    { "name resolution", NET }, { "Name or service not known", NET }, { "ConnectionError", NET },
    { "Value too large for defined data type", SAFE }, { "Read-only file system", SHUT },
    { "ModuleNotFoundError", CODE },
    { "UnpicklingError", BROKEN }, { "PytorchStreamReader failed", BROKEN }, { "Ran out of input", BROKEN },
    { "ArrowInvalid", BROKEN }, { "SafetensorError", BROKEN }, { "HeaderTooLarge", BROKEN }, { "BadZipFile", BROKEN },
    { "can't open file", NAME },
    { "JAX's parts are of different releases", MIXED }, { "not compatible with the installed jaxlib", MIXED },
    { "FileNotFoundError", missing }, { "No such file or directory", missing },
};

/* What a missing file is, by its name. */
static const struct reason kinds[] = {
    { ".safetensors", TENSORS }, { ".pt", WEIGHTS }, { ".pth", WEIGHTS }, { ".ckpt", WEIGHTS }, { ".bin", WEIGHTS },
    { ".pkl", PICKLE }, { ".pickle", PICKLE }, { ".parquet", TABLE }, { ".arrow", TABLE }, { ".feather", TABLE },
    { ".npy", ARRAY }, { ".npz", ARRAY }, { ".json", LINES }, { ".jsonl", LINES }, { ".csv", LINES }, { ".tsv", LINES },
    { ".txt", LINES },
};

/* What PyTorch prints for a rank that failed, and torchrun for its children. */
static const struct reason rank_reasons[] = {
    { "invalid device ordinal", CARD }, { "]: Traceback", NULL }, { "failed (exitcode:", NULL },
};

/* Copies the line around text[at]. */
static void take_line(const char *text, size_t at, struct program_failure *out)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    snprintf(out->line, sizeof out->line, "%.*s", (int)strcspn(text + at, "\r\n"), text + at);
}

/* Lines that only say where more is written, as pydantic's and JAX's do. */
static bool is_pointer(const char *line)
{
    static const char of_jax[] = "For simplicity, JAX has removed its internal frames";
    return strstr(line, "For further information visit") != NULL || strspn(line, "-") == strlen(line) ||
           strncmp(line, of_jax, sizeof of_jax - 1) == 0;
}

/* The last line that is not empty, nor one that only points. */
static void take_last_line(const char *text, size_t n, struct program_failure *out)
{
    do {
        while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
            n--;
        if (n == 0)
            return;
        take_line(text, n - 1, out);
        while (n > 0 && text[n - 1] != '\n')
            n--;
    } while (is_pointer(out->line));
}

/* The end of a log as a text; its length. */
static size_t read_tail(const char *log, char text[static TAIL_BYTES + 1])
{
    size_t n = 0;
    FILE *f = fopen(log, "rb");
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
    return n;
}

/* Whether a name that ends so stands in the line: "'data/train.pt'". */
static bool has_ending(const char *line, const char *ending)
{
    for (const char *at = strstr(line, ending); at != NULL; at = strstr(at + 1, ending))
        if (isalnum((unsigned char)at[strlen(ending)]) == 0)
            return true;
    return false;
}

static const char *advice_for_missing(const char *line)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (has_ending(line, kinds[i].text))
            return kinds[i].advice;
    return DATA;
}

/* The line of the first of these reasons that the text has. */
static void take_reason(const char *text, const struct reason *all, size_t n, struct program_failure *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *found = strstr(text, all[i].text);
        if (found == NULL)
            continue;
        take_line(text, (size_t)(found - text), out);
        out->advice = all[i].advice == missing ? advice_for_missing(out->line) : all[i].advice;
        return;
    }
}

void program_failure_read(const char *log, struct program_failure *out)
{
    char text[TAIL_BYTES + 1];
    const size_t n = read_tail(log, text);
    *out = (struct program_failure){ .advice = NULL };
    take_last_line(text, n, out);
    take_reason(text, reasons, sizeof reasons / sizeof reasons[0], out);
}

void program_failure_of_rank(const char *log, struct program_failure *out)
{
    char text[TAIL_BYTES + 1];
    read_tail(log, text);
    *out = (struct program_failure){ .advice = NULL };
    take_reason(text, rank_reasons, sizeof rank_reasons / sizeof rank_reasons[0], out);
}
