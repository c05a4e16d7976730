/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads the texts among a shared object's constants. A program that opens a library while it runs asks it for functions
 * by such texts, and no table of the file names them. Nothing is executed.
 */
#ifndef REPLAY_CUDASIM_STANDINS_ELF_TEXTS_H
#define REPLAY_CUDASIM_STANDINS_ELF_TEXTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Calls take(arg, text) for each text that ends in a zero byte, in the order of the file. The text is the file's own,
 * lent for the call; false ends the walk. ERR_FORMAT if it is not a 64-bit ELF file; ERR_HOST_NOMEM if the walk was
 * ended. */
MUST_USE enum err elf_texts(const void *bytes, size_t n, bool (*take)(void *arg, const char *text), void *arg,
                            struct err_detail *err);

#endif
