/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Releases of a package: listed by pip index, and installed one after another into a folder of ours, which Python looks
 * into first. What the environment has already stays as it is; what a release needs beside it comes into the folder.
 * A release that needs another PyTorch is not tried: the peak would not be the package's alone.
 */
#include "dryrun/bisect/history.h"

#include "base/load_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { WORDS_MAX = 64, FIXED_WORDS = 16, REPORT_MEMORY = 64 << 20 };

static enum err pip(const struct history *h, const char *const *words, char **out, int *status, struct err_detail *err)
{
    const char *argv[FIXED_WORDS + WORDS_MAX] = { h->python, "-m", "pip" };
    size_t n = 3;
    for (size_t i = 0; words[i] != NULL && n + 1 < FIXED_WORDS + WORDS_MAX; i++)
        argv[n++] = words[i];
    return quiet_command(argv, h->folder.path, h->asked.interrupted, out, status, err);
}

/* ---- which releases there are ---- */

/* How long a release's number is without zeros at its end: "2.10.0" is "2.10". */
static size_t plain_length(const char *number, size_t n)
{
    while (n > 2 && number[n - 1] == '0' && number[n - 2] == '.')
        n -= 2;
    return n;
}

static bool is_release(const char *number, size_t n, const char *typed)
{
    const size_t k = plain_length(typed, strlen(typed));
    return plain_length(number, n) == k && memcmp(number, typed, k) == 0;
}

/* Letters in a number are those of a release before the release: "5.0.0rc1", "2.0.dev3". */
static bool is_early(const char *number)
{
    return strpbrk(number, "abrcdev") != NULL;
}

/* The next number of a list "4.2, 4.1, ..."; its length, 0 at the end. */
static size_t next_number(const char **at, const char **number)
{
    *number = *at + strspn(*at, ", ");
    const size_t n = strcspn(*number, ", \r\n");
    *at = *number + n;
    return n;
}

/* Where a number stands in the list, newest first; -1: nowhere. */
static long place_of(const char *list, const char *typed)
{
    const char *number;
    long place = 0;
    for (size_t n; (n = next_number(&list, &number)) > 0; place++)
        if (is_release(number, n, typed))
            return place;
    return -1;
}

static enum err take_numbers(struct history *h, const char *list, struct err_detail *err)
{
    const struct history_request *r = &h->asked;
    const long good = place_of(list, r->good), bad = place_of(list, r->bad);
    const char *const missing = good < 0 ? r->good : bad < 0 ? r->bad : NULL;
    if (missing != NULL)
        return err_set(err, ERR_USAGE, 0, "pip finds no release %.60s of %.60s for this Python; it finds %.*s, ...",
                       missing, r->package, (int)(strcspn(list, "\n") < 120 ? strcspn(list, "\n") : 120), list);
    if (good == bad)
        return err_set(err, ERR_USAGE, 0, "--good and --bad are one release: there is nothing between them");
    if (good < bad)
        return err_set(err, ERR_USAGE, 0, "--good %.60s is newer than --bad %.60s: the good release is the older one",
                       r->good, r->bad);
    h->good = (struct version){ .name = strdup(r->good) };
    enum err e = h->good.name != NULL ? ERR_OK : err_no_memory(err);
    for (long place = good - 1; place >= bad && e == ERR_OK; place--) {
        const char *at = list, *number = NULL;
        size_t n = 0;
        for (long i = 0; i <= place; i++)
            n = next_number(&at, &number);
        e = history_add(h, number, n, err);
        if (e == ERR_OK && h->n > 1)
            e = history_add_parent(h, h->n - 2, err);
    }
    return e;
}

enum err package_history_open(struct history *h, struct err_detail *err)
{
    static const char heading[] = "Available versions: ";
    const bool has_early = is_early(h->asked.good) || is_early(h->asked.bad);
    const char *const words[] = { "index", "versions", h->asked.package, has_early ? "--pre" : NULL, NULL };
    char *out = NULL, reason[QUIET_REASON];
    int status = 0;
    if (h->asked.package[0] == '-' || strpbrk(h->asked.package, " =<>@[;/") != NULL || h->asked.package[0] == '\0')
        return err_set(err, ERR_USAGE, 0, "--package '%.80s': expected the name of a package, such as peft",
                       h->asked.package);
    if (h->python[0] == '\0')
        return err_set(err, ERR_USAGE, 0, "--package needs the Python that the package is for: begin the program with "
                       "it, as in -- python train.py or -- python -m torch.distributed.run train.py");
    enum err e = pip(h, words, &out, &status, err);
    const char *list = e == ERR_OK && status == 0 ? strstr(out, heading) : NULL;
    if (e == ERR_OK && list == NULL) {
        quiet_reason(out, reason);
        e = err_set(err, ERR_UNSUPPORTED, 0, "pip does not list the releases of %.60s: %s", h->asked.package, reason);
    }
    if (e == ERR_OK)
        e = take_numbers(h, list + strlen(heading), err);
    free(out);
    return e;
}

/* ---- one release ---- */

/* What pip would install for it, as "NAME==VERSION". */
struct wanted { char *at[WORDS_MAX + 1]; size_t n; };

static void wanted_close(struct wanted *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->at[i]);
}

static enum err take_wanted(const struct history *h, json_t *report, struct wanted *out, bool *is_there,
                            char reason[static QUIET_REASON], struct err_detail *err)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(report, "install"), i, item) {
        const json_t *about = json_object_get(item, "metadata");
        const char *name = json_string_value(json_object_get(about, "name"));
        const char *number = json_string_value(json_object_get(about, "version"));
        char text[QUIET_REASON];
        if (name == NULL || number == NULL)
            continue;
        if (strcasecmp(name, "torch") == 0 && strcasecmp(h->asked.package, "torch") != 0) {
            *is_there = false;
            snprintf(reason, QUIET_REASON, "it needs another PyTorch (%.40s)", number);
            return ERR_OK;
        }
        snprintf(text, sizeof text, "%.90s==%.90s", name, number);
        if (out->n == WORDS_MAX || (out->at[out->n++] = strdup(text)) == NULL)
            return err_no_memory(err);
    }
    return ERR_OK;
}

static enum err read_report(const struct history *h, const char *path, struct wanted *out, bool *is_there,
                            char reason[static QUIET_REASON], struct err_detail *err)
{
    json_error_t problem;
    json_t *report = json_load_file(path, 0, &problem);
    if (report == NULL)
        return err_at(err, ERR_FORMAT, 0, path, "pip's report: %s", problem.text);
    const enum err e = take_wanted(h, report, out, is_there, reason, err);
    json_decref(report);
    return e;
}

static enum err refuse(char *said, bool *is_there, char reason[static QUIET_REASON])
{
    *is_there = false;
    quiet_reason(said, reason);
    return ERR_OK;
}

/* What is not there yet, for this environment: the release, and newer packages that it needs. */
static enum err ask_wanted(struct history *h, const char *release, struct wanted *out, bool *is_there,
                           char reason[static QUIET_REASON], struct err_detail *err)
{
    char path[PATH_MAX + 16], *said = NULL;
    int status = 0;
    snprintf(path, sizeof path, "%s/report.json", h->folder.path);
    enum err e = pip(h, (const char *const[]){ "install", "--dry-run", "--quiet", "--report", path, release, NULL },
                     &said, &status, err);
    if (e == ERR_OK)
        e = status != 0 ? refuse(said, is_there, reason) : read_report(h, path, out, is_there, reason, err);
    free(said);
    return e;
}

static enum err install(struct history *h, const char *folder, const struct wanted *w, bool *is_there,
                        char reason[static QUIET_REASON], struct err_detail *err)
{
    const char *words[FIXED_WORDS / 2 + WORDS_MAX] = { "install", "--quiet", "--no-deps", "--target", folder };
    char *said = NULL;
    int status = 0;
    for (size_t i = 0; i < w->n; i++)
        words[5 + i] = w->at[i];
    enum err e = pip(h, words, &said, &status, err);
    if (e == ERR_OK && status != 0)
        e = refuse(said, is_there, reason);
    free(said);
    return e;
}

/* Whether the release is the one that Python finds. */
static enum err check_release(struct history *h, const char *number, bool *is_there, char reason[static QUIET_REASON],
                              struct err_detail *err)
{
    static const char ask[] = "import importlib.metadata as m, sys; print('FOUND ' + m.version(sys.argv[1]))";
    char *said = NULL;
    int status = 0;
    const char *const argv[] = { h->python, "-c", ask, h->asked.package, NULL };
    const enum err e = quiet_command(argv, h->folder.path, h->asked.interrupted, &said, &status, err);
    const char *found = e == ERR_OK && status == 0 ? strstr(said, "FOUND ") : NULL;
    const char *is = found != NULL ? found + strlen("FOUND ") : "none";
    if (e == ERR_OK && !is_release(is, strcspn(is, "\n"), number)) {
        *is_there = false;
        snprintf(reason, QUIET_REASON, "Python finds another release of it (%.*s)", (int)strcspn(is, "\n"), is);
    }
    free(said);
    return e;
}

enum err package_history_bring(struct history *h, const char *version, bool *is_there,
                               char reason[static QUIET_REASON], struct err_detail *err)
{
    char folder[PATH_MAX + 16], release[QUIET_REASON];
    struct wanted wanted = { .n = 0 };
    snprintf(folder, sizeof folder, "%s/package", h->folder.path);
    snprintf(release, sizeof release, "%.90s==%.90s", h->asked.package, version);
    folder_remove(folder, "bisect");
    *is_there = true;
    enum err e = mkdir(folder, 0700) == 0 ? ERR_OK : err_at(err, ERR_IO, 0, folder, "%s", strerror(errno));
    if (e == ERR_OK)                                         /* pip looks at what Python finds without the folder */
        e = ask_wanted(h, release, &wanted, is_there, reason, err);
    if (e == ERR_OK && *is_there && wanted.n > 0)
        e = install(h, folder, &wanted, is_there, reason, err);
    if (e == ERR_OK)
        e = history_put_python_path(h, folder, err);
    if (e == ERR_OK && *is_there)
        e = check_release(h, version, is_there, reason, err);
    wanted_close(&wanted);
    return e;
}
