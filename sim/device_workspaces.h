/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is assumed of workspaces of cuDNN's convolutions, which are not documented. */
#ifndef REPLAY_SIM_DEVICE_WORKSPACES_H
#define REPLAY_SIM_DEVICE_WORKSPACES_H

enum device_workspaces {
    WORKSPACES_LIKELY,               /* what is likely for the shape (cudasim/standins/convolution_sizes.h) */
    WORKSPACES_MOST,                 /* the most that it may be */
    WORKSPACES_FIXED,                /* one size for all, or none */
};

#endif
