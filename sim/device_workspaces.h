/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is assumed of the workspaces of NVIDIA's libraries, which are not documented. */
#ifndef REPLAY_SIM_DEVICE_WORKSPACES_H
#define REPLAY_SIM_DEVICE_WORKSPACES_H

enum device_workspaces {
    WORKSPACES_LIKELY,               /* what is likely for the shape (cudasim/standins/convolution_sizes.h,
                                      * library_sizes.h, sparse_sizes.h) */
    WORKSPACES_MOST,                 /* the most that it may be */
    WORKSPACES_FIXED,                /* one size for all convolutions, or none; none for the other libraries */
};

/* Whose workspaces a program may ask for. */
enum workspace_library {
    WORKSPACES_OF_CUDNN,             /* of convolutions */
    WORKSPACES_OF_CUFFT,
    WORKSPACES_OF_CUSOLVER,
    WORKSPACES_OF_CUSPARSE,
    WORKSPACE_LIBRARIES
};

#endif
