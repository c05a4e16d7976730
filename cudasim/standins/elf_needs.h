/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads what a shared object needs from others: the libraries it names and the symbols it takes, with their versions.
 *
 * libelf finds the tables by the file's section headers, which every linker writes (System V gABI, "Dynamic Section";
 * versions: "Linux Standard Base Core, Symbol Versioning"). Nothing is executed.
 */
#ifndef REPLAY_CUDASIM_STANDINS_ELF_NEEDS_H
#define REPLAY_CUDASIM_STANDINS_ELF_NEEDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct elf_visitor {
    /* A library by its soname. Text is the file's own, lent for the call; false ends the walk. */
    bool (*library)(void *arg, const char *soname);
    /* An undefined symbol; `version` and `library` are NULL if it asks for no version. */
    bool (*symbol)(void *arg, const char *name, const char *version, const char *library);
    void *arg;
};

/* Walks a shared object's needs. ERR_FORMAT if it is not a 64-bit shared object; ERR_HOST_NOMEM if the visitor
 * ended the walk. */
MUST_USE enum err elf_needs(const void *bytes, size_t n, const struct elf_visitor *v, struct err_detail *err);

#endif
