/*
 * The HTML pages that torch.cuda._memory_viz writes: a viewer's loader and the snapshot's pickle as base64.
 */
#ifndef REPLAY_IMPORT_HTML_H
#define REPLAY_IMPORT_HTML_H

#include "base/input.h"

#include <stdbool.h>

bool html_sniff(const unsigned char *head, size_t n);

/* Leaves the input at the first byte of the pickle inside the page. ERR_UNSUPPORTED where the page holds none. */
MUST_USE enum err html_enter(struct input *in, struct err_detail *why);

#endif
