/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* From errors to exit statuses. */
#include "base/exit_status.h"

/* No default: the compiler names an error that was added without a status. */
enum exit_status exit_status_of(enum err e)
{
    switch (e) {
    case ERR_OK:
        return STATUS_DONE;
    case ERR_DEVICE_OOM:
        return STATUS_FAILED;
    case ERR_USAGE:
    case ERR_INPUT:
    case ERR_FORMAT:
    case ERR_ABI:
    case ERR_UNSUPPORTED:
        return STATUS_USAGE;
    case ERR_IO:
    case ERR_HOST_NOMEM:
    case ERR_DRIVER:
    case ERR_CORRUPT:
    case ERR_INTERRUPTED:          /* a command that expects a signal ends with 128 + its number instead */
    case ERR_COUNT:
        break;
    }
    return STATUS_OURS;
}

enum exit_status exit_status_of_run(enum err outcome)
{
    return outcome == ERR_CORRUPT ? STATUS_FAILED : exit_status_of(outcome);
}
