/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * From finished lanes to a report: what was measured, in the trace's own numbering, and what was assumed.
 */
#ifndef REPLAY_REPLAY_RESULTS_RESULT_H
#define REPLAY_REPLAY_RESULTS_RESULT_H

#include "replay/recording/platform.h"
#include "replay/engine/engine.h"
#include "replay/recording/coverage.h"
#include "replay/plan/bounds.h"
#include "report/rows/report.h"

enum { HEADLINE_TEXT = 320, DEVICE_TEXT = 160 };

/* The device of a run, resolved: capacity from what was typed, from the trace, or the smallest card that fits. */
struct device_choice {
    const struct device_ops *ops;
    struct device_config config;
    bool has_total;                  /* the person gave a capacity */
    bool takes_contexts;             /* a named card lends memory to its context and libraries, by
                                      * sim/contexts.csv */
    uint64_t context_most_bytes;     /* the largest that was seen on the named card; 0: not from the table */
    bool is_context_recorded;        /* the context was read off the recorded refusal, not from that table */
    const char *context_source;      /* where config.context_bytes is from; NULL: it was typed, or there is none */
    enum platform platform;          /* that a person named, by system= or --system; PLATFORM_UNKNOWN: nobody did */
    enum platform card_platform;     /* whose cards are named: that, or else the recording's */
    char typed[DEVICE_TEXT];         /* as given, or as a person would type it */
    bool is_assumed;                 /* nobody named the card, and the recording does not tell it */
    char headline[HEADLINE_TEXT];    /* what the device is, why, and how to choose another */
};

/* Chooses a device for a trace. `text`: as after --device; NULL: "sim". Without a capacity in the text it is the
 * trace's own, or the smallest named card that the recorded run fits; without addresses= segments come in the order
 * that the recording shows, if it shows that they rise. The errors of device_parse and of trace_segment_events. */
MUST_USE enum err device_choose(const char *text, struct trace_reader *trace, struct device_choice *out,
                                struct err_detail *err);

/* The same for a study that says what fits: on a named card the CUDA context and the libraries take their part, if the
 * text does not say context=. A plain size and a recorded capacity are the program's alone. If the recording ends in a
 * refusal on this very card, what was outside PyTorch then replaces the table's value. */
MUST_USE enum err device_choose_for_advice(const char *text, struct trace_reader *trace, enum platform system,
                                           struct device_choice *out, struct err_detail *err);

/* The i-th of the named cards that a program on that platform can have, ascending; NULL after the last. The table has
 * cards of NVIDIA only: there is none for ROCm, XPU, MPS and NPU, and a Jetson is none of those that advice names. */
const struct device_model *device_card_at(enum platform p, size_t i);

/* Whether a named card's memory is the host's, too. It is modelled as if it were the card's alone. */
bool device_shares_host(const char *card);

/* What is not known of such a card; "" for any other card, or NULL. */
void device_say_shared(const char *card, char *text, size_t room);

/* The card that a person may mean by a plain size: of those sold with it the one that shows least, and what it leaves
 * beside its context. NULL, and nothing written: no such size was typed. */
const struct device_model *device_sold(const struct device_choice *d, uint64_t *left_bytes);

/* One sentence on what the choice takes off the card for context and libraries. "" for nothing. */
void device_say_context(const struct device_choice *d, char *text, size_t room);

/* The sentence that says whether smallest cards (fit.h) include what the context and others take. */
void device_say_smallest(const struct device_choice *d, char *text, size_t room);

/* The same for a command that also runs on a real card. The capacity of a real card is known once it is open. */
MUST_USE enum err device_choose_any(const char *text, struct trace_reader *trace, struct device_choice *out,
                                    struct err_detail *err);

/* Fills a report from finished lanes; it borrows from all arguments. `runs`: room for n_lanes, the caller's. `bounds`
 * and `coverage`: of the trace; NULL if nobody reads them. Reads the trace's side tables. ERR_HOST_NOMEM and the
 * reader's errors. */
MUST_USE enum err result_gather(struct trace_reader *trace, const char *path, const struct bounds *bounds,
                                const struct coverage *coverage, const struct lane *lanes, size_t n_lanes,
                                const struct device_choice *device, struct report_run *runs, struct report *out,
                                struct err_detail *err);
void result_close(struct report *r);

#endif
