/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A trace is known by its digest: figures of one edition are of the same bytes, wherever they were made. */
#include "replay/sweep/edition.h"

#include "base/sha256.h"

#include <string.h>

static const struct edition_trace traces[] = {
#define SUITE_TRACE(file, sha256, bound) { file, sha256, bound },
#include "replay/sweep/edition_1.def"
};

const struct edition_trace *edition_traces(size_t *n)
{
    *n = sizeof traces / sizeof traces[0];
    return traces;
}

enum err edition_check(const char *path, const struct edition_trace *t, struct err_detail *err)
{
    char digest[SHA256_HEX];
    struct err_detail reason = { .text = "" };
    const enum err e = sha256_file(path, digest, &reason);
    if (e != ERR_OK)
        return err_set(err, e, 0, "its traces are in the folder 'samples' of replay's source: %s", reason.text);
    if (strcmp(digest, t->digest) != 0)
        return err_at(err, ERR_FORMAT, 0, path, "is not the trace of edition 1: its SHA-256 differs");
    return ERR_OK;
}
