/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Prints cards and processes as nvidia-smi does. */
#include "dryrun/smi/smi_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DRIVER_VERSION "580.00.00"    /* as NVML answers */
#define CUDA_VERSION   "13.0"

static uint64_t mib(uint64_t bytes)
{
    return bytes >> 20;
}

static uint64_t free_bytes(const struct smi_cards *c, int card)
{
    return c->total_bytes - c->reserved_bytes - smi_used_bytes(c, card);
}

static void put_time(char *text, const char *form)
{
    const time_t now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts) == NULL || strftime(text, SMI_NAME_BYTES, form, &parts) == 0)
        text[0] = '\0';
}

/* ---- CSV ---- */

enum smi_value { VALUE_TEXT, VALUE_MIB, VALUE_PERCENT };

/* What a field of a card is; the value of one that is asked for goes to `text` or `bytes`. */
struct smi_field {
    const char *name, *alias;
    enum smi_value kind;
};

static const struct smi_field card_fields[] = {
    { "timestamp", NULL, VALUE_TEXT },          { "driver_version", NULL, VALUE_TEXT },
    { "count", NULL, VALUE_TEXT },              { "index", NULL, VALUE_TEXT },
    { "name", "gpu_name", VALUE_TEXT },         { "uuid", "gpu_uuid", VALUE_TEXT },
    { "pci.bus_id", "gpu_bus_id", VALUE_TEXT }, { "pci.bus", NULL, VALUE_TEXT },
    { "compute_cap", NULL, VALUE_TEXT },        { "pstate", NULL, VALUE_TEXT },
    { "compute_mode", NULL, VALUE_TEXT },       { "persistence_mode", NULL, VALUE_TEXT },
    { "display_mode", NULL, VALUE_TEXT },       { "display_active", NULL, VALUE_TEXT },
    { "memory.total", NULL, VALUE_MIB },        { "memory.reserved", NULL, VALUE_MIB },
    { "memory.used", NULL, VALUE_MIB },         { "memory.free", NULL, VALUE_MIB },
    { "utilization.gpu", NULL, VALUE_PERCENT }, { "utilization.memory", NULL, VALUE_PERCENT },
};

/* Fields that a simulated card has no figure for. */
static const char *const absent_fields[] = {
    "serial", "gpu_serial", "fan.speed", "temperature.gpu", "temperature.memory", "power.draw", "power.limit",
    "power.draw.instant", "power.draw.average", "enforced.power.limit", "power.management", "power.max_limit",
    "clocks.sm", "clocks.gr", "clocks.mem", "clocks.current.sm", "clocks.current.graphics", "clocks.current.memory",
    "clocks.max.sm", "clocks.max.memory", "mig.mode.current", "mig.mode.pending", "ecc.mode.current", "vbios_version",
    "pcie.link.gen.current", "pcie.link.width.current", "ecc.errors.uncorrected.volatile.total",
};

static const struct smi_field process_fields[] = {
    { "timestamp", NULL, VALUE_TEXT }, { "gpu_name", NULL, VALUE_TEXT },     { "gpu_bus_id", NULL, VALUE_TEXT },
    { "gpu_uuid", NULL, VALUE_TEXT },  { "pid", NULL, VALUE_TEXT },          { "process_name", "name", VALUE_TEXT },
    { "used_memory", "used_gpu_memory", VALUE_MIB },
};

static const struct smi_field *find_field(const struct smi_field *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0 || (all[i].alias != NULL && strcmp(all[i].alias, name) == 0))
            return &all[i];
    return NULL;
}

static bool is_absent(const char *name)
{
    for (size_t i = 0; i < sizeof absent_fields / sizeof absent_fields[0]; i++)
        if (strcmp(absent_fields[i], name) == 0)
            return true;
    return false;
}

bool csv_format_parse(const char *text, struct csv_format *out)
{
    bool is_csv = false;
    for (const char *at = text; true; at++) {
        const size_t n = strcspn(at, ",");
        if (n == 3 && strncmp(at, "csv", n) == 0)
            is_csv = true;
        else if (n == 8 && strncmp(at, "noheader", n) == 0)
            out->has_no_header = true;
        else if (n == 7 && strncmp(at, "nounits", n) == 0)
            out->has_no_units = true;
        else
            return false;
        at += n;
        if (*at == '\0')
            return is_csv;
    }
}

/* The next field's name without blanks around it. False after the last one. */
static bool next_field(const char **at, char name[static SMI_NAME_BYTES])
{
    if (*at == NULL)
        return false;
    while (**at == ' ')
        ++*at;
    const size_t n = strcspn(*at, ",");
    size_t k = n < SMI_NAME_BYTES ? n : SMI_NAME_BYTES - 1;
    memcpy(name, *at, k);
    while (k > 0 && name[k - 1] == ' ')
        k--;
    name[k] = '\0';
    *at = (*at)[n] == ',' ? *at + n + 1 : NULL;
    return true;
}

static uint64_t card_bytes(const struct smi_cards *c, int card, const char *name)
{
    return strcmp(name, "memory.total") == 0 ? c->total_bytes : strcmp(name, "memory.reserved") == 0 ? c->reserved_bytes
         : strcmp(name, "memory.used") == 0 ? smi_used_bytes(c, card) : free_bytes(c, card);
}

/* What both cards and their processes are asked for. */
static void card_text(const struct smi_cards *c, int card, const char *name, char text[static SMI_NAME_BYTES])
{
    if (strcmp(name, "timestamp") == 0)
        put_time(text, "%Y/%m/%d %H:%M:%S.000");
    else if (strcmp(name, "driver_version") == 0)
        snprintf(text, SMI_NAME_BYTES, DRIVER_VERSION);
    else if (strcmp(name, "count") == 0)
        snprintf(text, SMI_NAME_BYTES, "%d", c->n);
    else if (strcmp(name, "index") == 0)
        snprintf(text, SMI_NAME_BYTES, "%d", card);
    else if (strcmp(name, "name") == 0 || strcmp(name, "gpu_name") == 0)
        snprintf(text, SMI_NAME_BYTES, "%s", c->model.title);
    else if (strcmp(name, "uuid") == 0 || strcmp(name, "gpu_uuid") == 0)
        smi_uuid(card, text);
    else if (strcmp(name, "pci.bus_id") == 0 || strcmp(name, "gpu_bus_id") == 0)
        smi_bus_id(card, text);
    else if (strcmp(name, "pci.bus") == 0)
        snprintf(text, SMI_NAME_BYTES, "0x%02X", (unsigned)card + 1);
    else if (strcmp(name, "compute_cap") == 0)
        (void)capability_text(c->model.capability, text);
    else if (strcmp(name, "pstate") == 0)
        snprintf(text, SMI_NAME_BYTES, "P0");
    else if (strcmp(name, "compute_mode") == 0)
        snprintf(text, SMI_NAME_BYTES, "Default");
    else
        snprintf(text, SMI_NAME_BYTES, "Disabled");
}

static void process_text(const struct smi_cards *c, const struct smi_process *p, const char *name, char *text)
{
    if (strcmp(name, "pid") == 0)
        snprintf(text, SMI_NAME_BYTES, "%u", p->pid);
    else if (strcmp(name, "process_name") == 0)
        snprintf(text, SMI_NAME_BYTES, "%s", p->name);
    else
        card_text(c, p->card, name, text);
}

/* One line: of a card, or of a process, which is NULL otherwise. */
static void print_line(const struct smi_cards *c, int card, const struct smi_process *p, const char *fields,
                       const struct csv_format *f)
{
    const size_t n = p != NULL ? sizeof process_fields / sizeof process_fields[0]
                               : sizeof card_fields / sizeof card_fields[0];
    char name[SMI_NAME_BYTES], text[SMI_NAME_BYTES];
    const char *before = "";
    for (const char *at = fields; next_field(&at, name); before = ", ") {
        const struct smi_field *field = find_field(p != NULL ? process_fields : card_fields, n, name);
        if (field == NULL)
            printf("%s[N/A]", before);
        else if (field->kind == VALUE_MIB)
            printf("%s%" PRIu64 "%s", before, mib(p != NULL ? p->bytes : card_bytes(c, card, field->name)),
                   f->has_no_units ? "" : " MiB");
        else if (field->kind == VALUE_PERCENT)
            printf("%s0%s", before, f->has_no_units ? "" : " %");
        else {
            if (p != NULL)
                process_text(c, p, field->name, text);
            else
                card_text(c, card, field->name, text);
            printf("%s%s", before, text);
        }
    }
    printf("\n");
}

/* Checks the fields and prints the line of names. */
static bool print_header(const struct smi_field *all, size_t n, const char *fields, const struct csv_format *f)
{
    char name[SMI_NAME_BYTES];
    const char *before = "";
    for (const char *at = fields; next_field(&at, name);)
        if (find_field(all, n, name) == NULL && !(all == card_fields && is_absent(name))) {
            printf("Field \"%s\" is not a valid field to query.\n", name);
            return false;
        }
    if (f->has_no_header)
        return true;
    for (const char *at = fields; next_field(&at, name); before = ", ") {
        const struct smi_field *field = find_field(all, n, name);
        const bool has_units = field != NULL && field->kind != VALUE_TEXT;
        printf("%s%s%s", before, field != NULL ? field->name : name,
               !has_units ? "" : field->kind == VALUE_MIB ? " [MiB]" : " [%]");
    }
    printf("\n");
    return true;
}

bool print_cards_csv(const struct smi_cards *c, const char *fields, const struct csv_format *f)
{
    if (!print_header(card_fields, sizeof card_fields / sizeof card_fields[0], fields, f))
        return false;
    for (int i = 0; i < c->n; i++)
        if (c->is_shown[i])
            print_line(c, i, NULL, fields, f);
    return true;
}

bool print_processes_csv(const struct smi_cards *c, const char *fields, const struct csv_format *f)
{
    if (!print_header(process_fields, sizeof process_fields / sizeof process_fields[0], fields, f))
        return false;
    for (int i = 0; i < c->n_processes; i++)
        if (c->is_shown[c->processes[i].card])
            print_line(c, c->processes[i].card, &c->processes[i], fields, f);
    return true;
}

/* ---- for people ---- */

void print_list(const struct smi_cards *c)
{
    char uuid[SMI_NAME_BYTES];
    for (int i = 0; i < c->n; i++) {
        smi_uuid(i, uuid);
        if (c->is_shown[i])
            printf("GPU %d: %s (UUID: %s)\n", i, c->model.title, uuid);
    }
}

#define RULE "+-----------------------------------------------------------------------------------------+\n"

static void print_table_processes(const struct smi_cards *c)
{
    printf("\n" RULE "| Processes:                                                                              |\n"
           "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
           "|        ID   ID                                                               Usage      |\n"
           "|=========================================================================================|\n");
    int n = 0;
    for (int i = 0; i < c->n_processes; i++)
        if (c->is_shown[c->processes[i].card]) {
            const struct smi_process *p = &c->processes[i];
            printf("|%5d   N/A  N/A      %11u      C   %-34.34s %8" PRIu64 "MiB |\n", p->card, p->pid, p->name,
                   mib(p->bytes));
            n++;
        }
    if (n == 0)
        printf("|  No running processes found                                                             |\n");
    printf(RULE);
}

void print_table(const struct smi_cards *c)
{
    char text[SMI_NAME_BYTES];
    put_time(text, "%a %b %e %H:%M:%S %Y");
    printf("%s\n" RULE "| NVIDIA-SMI %-18s Driver Version: %-17s CUDA Version: %-9s |\n"
           "|-----------------------------------------+------------------------+----------------------+\n"
           "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|=========================================+========================+======================|\n",
           text, DRIVER_VERSION, DRIVER_VERSION, CUDA_VERSION);
    for (int i = 0; i < c->n; i++) {
        smi_bus_id(i, text);
        if (c->is_shown[i])
            printf("|%4d  %-30.30s Off |   %s Off |                  N/A |\n"
                   "| N/A   N/A    P0              N/A /  N/A |%8" PRIu64 "MiB /%7" PRIu64
                   "MiB |      0%%      Default |\n"
                   "+-----------------------------------------+------------------------+----------------------+\n",
                   i, c->model.title, text, mib(smi_used_bytes(c, i)), mib(c->total_bytes));
    }
    print_table_processes(c);
}

void print_status(const struct smi_cards *c)
{
    char text[SMI_NAME_BYTES];
    put_time(text, "%a %b %e %H:%M:%S %Y");
    printf("\n==============NVSMI LOG==============\n\nTimestamp                                 : %s\n"
           "Driver Version                            : %s\nCUDA Version                              : %s\n\n"
           "Attached GPUs                             : %d\n", text, DRIVER_VERSION, CUDA_VERSION, c->n);
    for (int i = 0; i < c->n; i++) {
        if (!c->is_shown[i])
            continue;
        smi_bus_id(i, text);
        printf("GPU %s\n    Product Name                          : %s\n", text, c->model.title);
        smi_uuid(i, text);
        printf("    GPU UUID                              : %s\n    FB Memory Usage\n", text);
        printf("        Total                             : %" PRIu64 " MiB\n", mib(c->total_bytes));
        printf("        Reserved                          : %" PRIu64 " MiB\n", mib(c->reserved_bytes));
        printf("        Used                              : %" PRIu64 " MiB\n", mib(smi_used_bytes(c, i)));
        printf("        Free                              : %" PRIu64 " MiB\n", mib(free_bytes(c, i)));
        printf("    Utilization\n        GPU                               : 0 %%\n"
               "        Memory                            : 0 %%\n    Processes\n");
        for (int k = 0; k < c->n_processes; k++)
            if (c->processes[k].card == i)
                printf("        Process ID                        : %u\n            Type                          : C\n"
                       "            Name                          : %s\n"
                       "            Used GPU Memory               : %" PRIu64 " MiB\n",
                       c->processes[k].pid, c->processes[k].name, mib(c->processes[k].bytes));
    }
}

/* ---- XML ---- */

static void put_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        const char *word = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (word != NULL)
            fputs(word, stdout);
        else
            putchar((unsigned char)*text < ' ' ? '?' : *text);
    }
}

static void put_element(const char *indent, const char *name, const char *value)
{
    printf("%s<%s>", indent, name);
    put_escaped(value);
    printf("</%s>\n", name);
}

static void put_mib(const char *indent, const char *name, uint64_t bytes)
{
    printf("%s<%s>%" PRIu64 " MiB</%s>\n", indent, name, mib(bytes), name);
}

static void put_processes(const struct smi_cards *c, int card)
{
    printf("\t\t<processes>\n");
    for (int i = 0; i < c->n_processes; i++) {
        const struct smi_process *p = &c->processes[i];
        if (p->card != card)
            continue;
        printf("\t\t\t<process_info>\n\t\t\t\t<pid>%u</pid>\n\t\t\t\t<type>C</type>\n", p->pid);
        put_element("\t\t\t\t", "process_name", p->name);
        put_mib("\t\t\t\t", "used_memory", p->bytes);
        printf("\t\t\t</process_info>\n");
    }
    printf("\t\t</processes>\n");
}

static void put_card(const struct smi_cards *c, int card)
{
    char text[SMI_NAME_BYTES];
    smi_bus_id(card, text);
    printf("\t<gpu id=\"%s\">\n", text);
    put_element("\t\t", "product_name", c->model.title);
    smi_uuid(card, text);
    put_element("\t\t", "uuid", text);
    printf("\t\t<minor_number>%d</minor_number>\n\t\t<fb_memory_usage>\n", card);
    put_mib("\t\t\t", "total", c->total_bytes);
    put_mib("\t\t\t", "reserved", c->reserved_bytes);
    put_mib("\t\t\t", "used", smi_used_bytes(c, card));
    put_mib("\t\t\t", "free", free_bytes(c, card));
    printf("\t\t</fb_memory_usage>\n\t\t<utilization>\n\t\t\t<gpu_util>0 %%</gpu_util>\n"
           "\t\t\t<memory_util>0 %%</memory_util>\n\t\t</utilization>\n"
           "\t\t<temperature>\n\t\t\t<gpu_temp>N/A</gpu_temp>\n\t\t</temperature>\n");
    put_processes(c, card);
    printf("\t</gpu>\n");
}

void print_xml(const struct smi_cards *c)
{
    char text[SMI_NAME_BYTES];
    put_time(text, "%a %b %e %H:%M:%S %Y");
    printf("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n");
    put_element("\t", "timestamp", text);
    printf("\t<driver_version>%s</driver_version>\n\t<cuda_version>%s</cuda_version>\n\t<attached_gpus>%d"
           "</attached_gpus>\n", DRIVER_VERSION, CUDA_VERSION, c->n);
    for (int i = 0; i < c->n; i++)
        if (c->is_shown[i])
            put_card(c, i);
    printf("</nvidia_smi_log>\n");
}
