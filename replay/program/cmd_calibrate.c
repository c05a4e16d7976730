/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay --device cuda --calibrate`: a table of call times, and the options of `sim` that charge the same times. */
#include "replay/program/cmd_calibrate.h"

#include "base/units.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "sim/calibrate.h"
#include "sim/device_measured.h"

#include <inttypes.h>

enum { SIM_TEXT = 160 };

struct calibration_run {
    const char *device;              /* as typed */
    struct calibration at[CALIBRATION_SIZES];
    size_t n;
    struct device_measured card;
    struct device_config   settled;
    char   sim[SIM_TEXT];            /* as it is typed after --device */
};

/* Writes r->sim: a simulated card that charges the measured times. */
static void calibration_describe(struct calibration_run *r)
{
    const struct calibration *c = &r->at[r->n > CALIBRATION_TYPICAL ? CALIBRATION_TYPICAL : r->n - 1];
    const uint64_t total = r->settled.total_bytes;
    int n = snprintf(r->sim, sizeof r->sim, "sim:%" PRIu64 "%s,alloc_ns=%" PRIu64 ",free_ns=%" PRIu64,
                     total % MIB == 0 ? total / MIB : total, total % MIB == 0 ? "MiB" : "", c->alloc_ns, c->free_ns);
    if (c->has_ranges && n > 0 && (size_t)n < sizeof r->sim)
        snprintf(r->sim + n, sizeof r->sim - (size_t)n, ",map_ns=%" PRIu64 ",unmap_ns=%" PRIu64, c->map_ns,
                 c->unmap_ns);
}

static enum err calibration_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct calibration_run *r = session;
    char size[TEXT_NUMBER], a[TEXT_NUMBER], f[TEXT_NUMBER], m[TEXT_NUMBER], u[TEXT_NUMBER];
    printf("Device: %s, %s (%s)\n\n", r->device, r->card.card[0] != '\0' ? r->card.card : "a card without a name",
           r->card.software);
    printf("  medians    calls     alloc      free       map     unmap\n");
    for (size_t i = 0; i < r->n; i++) {
        const struct calibration *c = &r->at[i];
        printf("  %-9s %6" PRIu64 " %9s %9s %9s %9s\n", text_mib(c->bytes, size), c->calls, text_time(c->alloc_ns, a),
               text_time(c->free_ns, f), c->has_ranges ? text_time(c->map_ns, m) : "-",
               c->has_ranges ? text_time(c->unmap_ns, u) : "-");
    }
    printf("\nThe same card, simulated:\n\n  --device %s\n", r->sim);
    return ERR_OK;
}

static enum err calibration_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct calibration_run *r = session;
#define ANSWER_TABLE "answers/calibration.def"
#include "answers/as_json.def"
    return ERR_OK;
}

/* The config of the real card that was named. */
static enum err calibration_device(const struct options *o, struct device_config *cfg, struct err_detail *err)
{
    bool has_total, is_real;
    if (o->n_inputs > 0)
        return err_set(err, ERR_USAGE, 0, "--calibrate takes no file, but %s was typed", o->inputs[0]);
    if (o->n_devices != 1)
        return err_set(err, ERR_USAGE, 0, "--calibrate measures one real card: --device cuda");
    const enum err e = device_parse_any(o->devices[0], cfg, &is_real, &has_total, err);
    if (e != ERR_OK)
        return e;
    if (!is_real)
        return err_set(err, ERR_USAGE, 0, "--calibrate measures a real card, --device cuda, not '%s'", o->devices[0]);
    cfg->touch = o->touch;
    cfg->interrupted = cli_defer_signals();
    return ERR_OK;
}

static enum err calibration_read(void *session, const struct options *o, struct err_detail *err)
{
    struct calibration_run *r = session;
    struct device_config cfg;
    enum err e = calibration_device(o, &cfg, err);
    if (e == ERR_OK)
        e = calibrate(&device_cuda, &cfg, r->at, &r->n, &r->card, &r->settled, err);
    if (e != ERR_OK)
        return e;
    r->device = o->devices[0];
    calibration_describe(r);
    return ERR_OK;
}

const struct answer_ops answer_of_calibration = {
    .session_bytes = sizeof(struct calibration_run), .read = calibration_read, .write_json = calibration_write_json,
    .print = calibration_print,
};
