/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The forms in which nvidia-smi answers. The simulated card is idle: nothing computes on it, and what it has no figure
 * for is N/A.
 */
#ifndef REPLAY_DRYRUN_SMI_SMI_PRINT_H
#define REPLAY_DRYRUN_SMI_SMI_PRINT_H

#include "dryrun/smi/smi_cards.h"

struct csv_format {
    bool has_no_header, has_no_units;
};

/* "csv,noheader,nounits"; false for anything else. */
bool csv_format_parse(const char *text, struct csv_format *out);

/* A line for each card, or process. False, after a sentence on standard output, if a field is not known. */
bool print_cards_csv(const struct smi_cards *c, const char *fields, const struct csv_format *f);
bool print_processes_csv(const struct smi_cards *c, const char *fields, const struct csv_format *f);

void print_list(const struct smi_cards *c);
void print_table(const struct smi_cards *c);
void print_status(const struct smi_cards *c);
void print_xml(const struct smi_cards *c);

#endif
