/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The bytes of a fuzzer inside what a checksum or a compression would hide from it. Letters in front say what is made
 * of the rest:
 *
 *     'S', 'U'    sections of a native trace, packed as a writer would: whole, or without index and foot. A database,
 *                 which begins with "SQLite", is taken as it is.
 *     'Z', 'G'    what follows, compressed by zstd or gzip; at most twice
 *     'H'         a page with what follows as base64
 *
 * A section is its kind (1 byte), rows - 1 (2 bytes), length (2 bytes) and content. The list of sections after the
 * content of the index is made here. Any other input is taken as it is.
 */
#ifndef REPLAY_TESTS_FUZZ_FORGED_INPUT_H
#define REPLAY_TESTS_FUZZ_FORGED_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an input is a list of sections. */
bool forged_is_sections(const uint8_t *data, size_t n);

/* The file that an input stands for, of *n_file bytes; free() it. */
void *forged_file(const uint8_t *data, size_t n, size_t *n_file);

#endif
