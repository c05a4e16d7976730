/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads the HTML pages of torch.cuda._memory_viz: a viewer, and the snapshot's pickle as base64.
 */
#ifndef REPLAY_IMPORT_PYTORCH_HTML_H
#define REPLAY_IMPORT_PYTORCH_HTML_H

#include "base/input.h"

#include <stdbool.h>
#include <stdint.h>

/* True if a file that begins with these bytes is an HTML page. */
bool html_sniff(const unsigned char *head, size_t n);

/* Moves the input to the first byte of the pickle in the page. ERR_UNSUPPORTED if there is none. */
MUST_USE enum err html_enter(struct input *in, struct err_detail *err);

/* After the pickle was read: *n is how many more there are in the page. */
MUST_USE enum err html_count_others(struct input *in, uint32_t *n, struct err_detail *err);

#endif
