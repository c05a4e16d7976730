/*
 * What the program's exit status means, for every command.
 */
#ifndef REPLAY_BASE_EXIT_STATUS_H
#define REPLAY_BASE_EXIT_STATUS_H

enum exit_status {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,               /* a run ended in OOM, failed the audit, or differs from the record */
    STATUS_USAGE = 2,                /* wrong usage or bad input */
    STATUS_OURS = 3,                 /* our fault, or the host's */
};

#endif
