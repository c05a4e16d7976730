/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Snapshots of replayed runs, and pickles as text for comparison.
 */
#ifndef REPLAY_TESTS_DUMPED_H
#define REPLAY_TESTS_DUMPED_H

#include "base/array.h"
#include "import/pytorch/pickle.h"
#include "replay/export/snapshot_export.h"
#include "tests/recorded_run.h"

#include <stdlib.h>
#include <unistd.h>

/* Makes a name for a temporary file. */
struct dumped_path { char text[64]; };

static inline struct dumped_path dumped_path(void)
{
    struct dumped_path path = {"/tmp/dumped-XXXXXX"};
    const int fd = mkstemp(path.text);
    cr_assert(fd >= 0);
    close(fd);
    return path;
}

/* Replays on a run that recorded_start opened, and writes the state in front of `event` (or SNAPSHOT_EXPORT_AT_END).
 * The run is still open behind it. */
static inline void dumped_replay(struct single_run *run, uint64_t event, const struct replay_config *cfg,
                                 const char *path)
{
    struct snapshot_export d;
    struct err_detail err = {0};
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(snapshot_export_open(&d, event, &err), ERR_OK, "%s", err.text);
    snapshot_export_listen(&d, &run->lane);
    cr_assert_eq(single_run_replay(run, cfg, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(snapshot_export_write(&d, &run->lane, run->trace, out, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(fclose(out), 0);
    snapshot_export_close(&d);
}

static inline void dumped_run(struct single_run *run, uint64_t event, enum oom_action on_oom, const char *path)
{
    dumped_replay(run, event, &(struct replay_config){.on_oom = on_oom, .threads = 1}, path);
}

/* Opens the run as well: the snapshot of a replay under these settings on this card. */
static inline struct dumped_path dumped(struct trace_reader *trace, const char *conf, const char *more,
                                        uint64_t total_bytes)
{
    const struct dumped_path path = dumped_path();
    struct single_run run;
    char device[64];
    /* The golden data's addresses rise; a recording of two segments does not show it, but its snapshot has them. */
    snprintf(device, sizeof device, "sim:%" PRIu64 ",packing=off,addresses=rising", total_bytes);
    recorded_start_on(trace, conf, more, device, &run);
    dumped_run(&run, SNAPSHOT_EXPORT_AT_END, OOM_AS_RECORDED, path.text);
    cr_assert_eq(run.lane.outcome, ERR_OK);
    single_run_close(&run);
    return path;
}

/* ---- a pickle as text ---- */

/* Containers as texts, and the keys to leave out of dictionaries. */
struct rendering {
    struct pickle *pickle;
    char  **texts;
    size_t  n, room;
    const char *const *left_out;
};

static inline void render_value(const struct rendering *r, uint64_t value, FILE *out)
{
    int64_t number;
    double ratio;
    size_t n;
    const char *text = pickle_string(r->pickle, value, &n);
    if (pickle_kind(value) == PICKLE_USER)
        fputs(r->texts[pickle_index(value)], out);
    else if (text != NULL)
        fprintf(out, "'%s'", text);
    else if (pickle_int(r->pickle, value, &number))
        fprintf(out, "%" PRId64, number);
    else if (pickle_float(r->pickle, value, &ratio))
        fprintf(out, "%.17g", ratio);
    else
        fprintf(out, "%d:%u", (int)pickle_kind(value), (unsigned)pickle_index(value));
}

static inline bool render_skips(const struct rendering *r, uint64_t key)
{
    size_t n;
    const char *text = pickle_string(r->pickle, key, &n);
    for (size_t i = 0; text != NULL && r->left_out[i] != NULL; i++)
        if (strcmp(text, r->left_out[i]) == 0)
            return true;
    return false;
}

static inline enum err render_container(struct rendering *r, const uint64_t *items, size_t n, size_t step,
                                        uint64_t *out)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    fputc(step == 2 ? '{' : '[', to);
    for (size_t i = 0; i < n; i += step) {
        if (step == 2 && render_skips(r, items[i]))
            continue;
        render_value(r, items[i], to);
        if (step == 2) {
            fputs(": ", to);
            render_value(r, items[i + 1], to);
        }
        fputs(",\n", to);
    }
    fputc(step == 2 ? '}' : ']', to);
    fclose(to);
    char **texts = array_grow(r->texts, r->n, &r->room, sizeof *texts);
    cr_assert_not_null(texts);
    r->texts = texts;
    texts[r->n] = text;
    *out = pickle_value(PICKLE_USER, (uint32_t)r->n++);
    return ERR_OK;
}

static inline enum err render_dict(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    (void)err;
    return render_container(arg, items, n, 2, out);
}

static inline enum err render_list(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    (void)err;
    return render_container(arg, items, n, 1, out);
}

/* A pickle file as text, in the order of the file, without the keys in `left_out`; free() it. */
static inline char *rendered(const char *path, const char *const *left_out)
{
    struct rendering r = {.left_out = left_out};
    const struct pickle_handler handler = {.arg = &r, .dict = render_dict, .list = render_list, .tuple = render_list};
    struct input *in = NULL;
    struct err_detail err = {0};
    uint64_t value;
    cr_assert_eq(input_open(path, &in, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(pickle_open(in, &handler, NULL, 0, &r.pickle, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(pickle_read(r.pickle, &value, &err), ERR_OK, "%s: %s", path, err.text);
    cr_assert_eq(pickle_kind(value), PICKLE_USER);
    char *text = strdup(r.texts[pickle_index(value)]);
    for (size_t i = 0; i < r.n; i++)
        free(r.texts[i]);
    free(r.texts);
    pickle_close(r.pickle);
    input_close(in);
    return text;
}

/* Expects two texts to be equal, and shows the lines where they differ. */
static inline void expect_same_text(const char *got, const char *want, const char *name)
{
    size_t i = 0, line = 0;
    while (got[i] != '\0' && got[i] == want[i]) {
        if (got[i] == '\n')
            line = i + 1;
        i++;
    }
    cr_expect(got[i] == want[i], "%s: byte %zu:\n%.200s\nbut PyTorch wrote\n%.200s", name, i, got + line, want + line);
}

#endif
