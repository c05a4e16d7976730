/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the journals of a run that goes on. */
#define _GNU_SOURCE                   /* versionsort */
#include "dryrun/smi/smi_cards.h"

#include "base/units.h"
#include "cudasim/core/core.h"
#include "cudasim/core/visible_cards.h"
#include "dryrun/run/run_child.h"
#include "import/call_journal_read.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void smi_uuid(int card, char text[static SMI_NAME_BYTES])
{
    visible_card_uuid_text(card, text, SMI_NAME_BYTES);                 /* as NVML */
}

void smi_bus_id(int card, char text[static SMI_NAME_BYTES])
{
    snprintf(text, SMI_NAME_BYTES, "00000000:%02X:00.0", (unsigned)card + 1);
}

uint64_t smi_used_bytes(const struct smi_cards *c, int card)
{
    uint64_t bytes = c->others_bytes;
    for (int i = 0; i < c->n_processes; i++)
        bytes += c->processes[i].card == card ? c->processes[i].bytes : 0;
    const uint64_t most = c->total_bytes - c->reserved_bytes;
    return bytes < most ? bytes : most;
}

static bool is_named(int card, const char *text, size_t n)
{
    char names[3][SMI_NAME_BYTES];
    snprintf(names[0], sizeof names[0], "%d", card);
    smi_uuid(card, names[1]);
    smi_bus_id(card, names[2]);
    for (int i = 0; i < 3; i++)
        if (strlen(names[i]) == n && strncmp(names[i], text, n) == 0)
            return true;
    return false;
}

bool smi_cards_choose(struct smi_cards *c, const char *text)
{
    memset(c->is_shown, 0, sizeof c->is_shown);
    while (true) {
        const size_t n = strcspn(text, ",");
        bool is_known = false;
        for (int i = 0; i < c->n; i++)
            if (is_named(i, text, n))
                is_known = c->is_shown[i] = true;
        if (!is_known)
            return false;
        if (text[n] == '\0')
            return true;
        text += n + 1;
    }
}

static enum err read_cards(struct smi_cards *c, struct err_detail *err)
{
    struct device_config cfg;
    const struct device_ops *ops;
    const char *text = getenv(CUDASIM_ENV_DEVICE);
    if (text == NULL)
        return err_set(err, ERR_USAGE, 0, "No devices were found: this nvidia-smi is that of replay's simulated card");
    enum err e = cards_add_own(err);
    if (e == ERR_OK)
        e = cudasim_parse_devices(text[0] != '\0' ? text : "sim", &cfg, &ops, &c->n, err);
    if (e != ERR_OK)
        return e;
    c->model = device_found(&cfg);
    c->total_bytes = c->model.smi_bytes;
    c->reserved_bytes = c->model.smi_bytes - c->model.total_bytes;
    c->others_bytes = cfg.others_bytes;
    for (int i = 0; i < c->n; i++)
        c->is_shown[i] = true;
    return ERR_OK;
}

static void program_name(unsigned pid, char name[static SMI_NAME_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    const ssize_t n = readlink(path, name, SMI_NAME_BYTES - 1);
    snprintf(name + (n > 0 ? n : 0), SMI_NAME_BYTES - (size_t)(n > 0 ? n : 0), "%s", n > 0 ? "" : "[Not Found]");
}

static void put_process(struct smi_cards *c, unsigned pid, int card, uint64_t bytes)
{
    if (c->n_processes == SMI_PROCESSES_MAX)
        return;
    struct smi_process *p = &c->processes[c->n_processes++];
    *p = (struct smi_process){ .card = card, .pid = pid, .bytes = bytes };
    program_name(pid, p->name);
}

/* A process that replaced itself by exec has several journals. They follow each other, and the last one is what it
 * holds now. */
static void take_use(struct smi_cards *c, unsigned pid, const struct call_use *use)
{
    while (c->n_processes > 0 && c->processes[c->n_processes - 1].pid == pid)
        c->n_processes--;
    for (int i = 0; i < c->n; i++)
        if (use[i].total_bytes > 0) {
            const uint64_t own = use[i].taken_bytes - c->others_bytes;   /* of the context */
            put_process(c, pid, i, align_up(use[i].held_bytes, DEVICE_PAGE_BYTES) +
                                       (use[i].taken_bytes > c->others_bytes ? own : 0));
        }
}

static void read_journal(struct smi_cards *c, const char *path)
{
    static struct call_use use[CALL_DEVICES_MAX];
    struct err_detail err;
    struct call_journal *log = NULL;
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) || call_journal_open(path, &log, &err) != ERR_OK)
        return;
    memset(use, 0, sizeof use);
    enum err e = call_journal_more(log, &err);
    while (e == ERR_OK && log->n > 0) {
        call_journal_sum(log, use);
        e = call_journal_more(log, &err);
    }
    if (e == ERR_OK && process_is_running(log->head.pid))
        take_use(c, log->head.pid, use);
    call_journal_free(log);
}

static int is_journal(const struct dirent *f)
{
    const size_t n = strlen(f->d_name), k = strlen(CALL_JOURNAL_ENDING);
    return n > k && strcmp(f->d_name + n - k, CALL_JOURNAL_ENDING) == 0;
}

enum err smi_cards_read(struct smi_cards *c, struct err_detail *err)
{
    const char *folder = getenv(CUDASIM_ENV_JOURNAL);
    struct dirent **files = NULL;
    *c = (struct smi_cards){ .n = 0 };
    const enum err e = read_cards(c, err);
    const int n = e != ERR_OK || folder == NULL ? 0 : scandir(folder, &files, is_journal, versionsort);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name) < sizeof path)
            read_journal(c, path);
        free(files[i]);
    }
    free(files);
    return e;
}
