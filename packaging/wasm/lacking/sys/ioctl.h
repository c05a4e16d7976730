/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_SYS_IOCTL_H
#define REPLAY_PACKAGING_WASM_LACKING_SYS_IOCTL_H

enum { TIOCGWINSZ = 0x5413 };

struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

/* The size of the terminal, from the variable REPLAY_TERMINAL ("80x24"), which the host sets; -1 without it. */
int ioctl(int fd, int request, struct winsize *size);

#endif
