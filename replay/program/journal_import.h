/*
 * What a recorded run leaves behind, made into traces.
 */
#ifndef REPLAY_REPLAY_PROGRAM_JOURNAL_IMPORT_H
#define REPLAY_REPLAY_PROGRAM_JOURNAL_IMPORT_H

#include "base/err.h"
#include "report/json_writer.h"

/* Imports the journals of a folder: to `out` where one process used one device, else to names made from it. Each is
 * named on standard error and its journal removed; that of a process which still runs stays, and is named too. With
 * `json` (may be NULL) arrays `files` and `processes` are put there. */
MUST_USE enum err recording_import(const char *folder, const char *out, struct json_writer *json,
                                   struct err_detail *why);

#endif
