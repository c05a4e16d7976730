/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the path of a source file in a call stack tells of where the program ran.
 */
#ifndef REPLAY_IMPORT_PYTORCH_FRAME_PLATFORM_H
#define REPLAY_IMPORT_PYTORCH_FRAME_PLATFORM_H

/* "windows", "wsl", "rocm", "xpu" or "npu" for a path, or a frame's text with one, that only this platform has; NULL:
 * it has none. Static. */
const char *frame_platform_word(const char *text);

#endif
