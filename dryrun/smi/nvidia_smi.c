/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What answers under `run-sim` when a program calls nvidia-smi: lists, queries as CSV, the status as text and as XML,
 * again and again if that is wanted. Options are those of NVIDIA's, and others are refused.
 */
#include "dryrun/smi/smi_cards.h"
#include "dryrun/smi/smi_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum smi_form { FORM_TABLE, FORM_LIST, FORM_CARDS, FORM_PROCESSES, FORM_STATUS, FORM_XML };

struct smi_question {
    enum smi_form form;
    const char *fields, *chosen;     /* chosen: of -i, NULL: all cards */
    struct csv_format format;
    unsigned pause_ms;               /* 0: once */
};

/* The value of an option: "--name=value", "--name value" and "-n value". NULL: this is another option, or its value is
 * missing. */
static const char *value_of(char **argv, int *i, const char *name, const char *letter)
{
    const size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) == 0 && argv[*i][n] == '=')
        return argv[*i] + n + 1;
    const bool is_it = strcmp(argv[*i], name) == 0 || (letter != NULL && strcmp(argv[*i], letter) == 0);
    return is_it && argv[*i + 1] != NULL ? argv[++*i] : NULL;
}

static bool take_flag(struct smi_question *q, const char *word)
{
    if (strcmp(word, "-L") == 0 || strcmp(word, "--list-gpus") == 0)
        q->form = FORM_LIST;
    else if (strcmp(word, "-x") == 0 || strcmp(word, "--xml-format") == 0)
        q->form = FORM_XML;
    else if (strcmp(word, "-q") == 0 || strcmp(word, "--query") == 0)
        q->form = q->form == FORM_XML ? FORM_XML : FORM_STATUS;
    else
        return false;
    return true;
}

static bool take_query(struct smi_question *q, char **argv, int *i)
{
    const char *cards = value_of(argv, i, "--query-gpu", NULL);
    const char *processes = cards == NULL ? value_of(argv, i, "--query-compute-apps", NULL) : NULL;
    if (cards == NULL && processes == NULL)
        return false;
    q->form = cards != NULL ? FORM_CARDS : FORM_PROCESSES;
    q->fields = cards != NULL ? cards : processes;
    return true;
}

/* Takes an option with its value; -d (a choice of sections) and -f are read and change nothing but where to. */
static bool take_value(struct smi_question *q, char **argv, int *i)
{
    const char *value = value_of(argv, i, "--format", NULL);
    if (value != NULL)
        return csv_format_parse(value, &q->format);
    if ((value = value_of(argv, i, "--id", "-i")) != NULL)
        q->chosen = value;
    else if ((value = value_of(argv, i, "--loop-ms", "-lms")) != NULL)
        q->pause_ms = (unsigned)strtoul(value, NULL, 10);
    else if ((value = value_of(argv, i, "--loop", "-l")) != NULL)
        q->pause_ms = (unsigned)strtoul(value, NULL, 10) * 1000;
    else if ((value = value_of(argv, i, "--filename", "-f")) != NULL)
        return freopen(value, "w", stdout) != NULL;
    else
        return value_of(argv, i, "--display", "-d") != NULL;
    return true;
}

static bool take_words(struct smi_question *q, char **argv)
{
    for (int i = 1; argv[i] != NULL; i++)
        if (!take_flag(q, argv[i]) && !take_query(q, argv, &i) && !take_value(q, argv, &i)) {
            printf("Invalid combination of input arguments. (The nvidia-smi of replay's simulated card does not know "
                   "'%s'.)\n", argv[i] != NULL ? argv[i] : "");
            return false;
        }
    return true;
}

static bool print_answer(const struct smi_question *q, const struct smi_cards *c)
{
    switch (q->form) {
    case FORM_LIST:      print_list(c); return true;
    case FORM_CARDS:     return print_cards_csv(c, q->fields, &q->format);
    case FORM_PROCESSES: return print_processes_csv(c, q->fields, &q->format);
    case FORM_STATUS:    print_status(c); return true;
    case FORM_XML:       print_xml(c); return true;
    default:             print_table(c); return true;
    }
}

static int fail(const char *sentence)
{
    printf("%s\n", sentence);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct smi_cards cards;
    struct smi_question q = { .form = FORM_TABLE };
    struct err_detail err = { .text = "" };
    if (argc < 1 || !take_words(&q, argv))
        return EXIT_FAILURE;
    do {
        if (smi_cards_read(&cards, &err) != ERR_OK)
            return fail(err.text);
        if (q.chosen != NULL && !smi_cards_choose(&cards, q.chosen))
            return fail("No devices were found");
        if (!print_answer(&q, &cards))
            return 2;
        if (fflush(stdout) != 0)
            return EXIT_FAILURE;
        nanosleep(&(struct timespec){ .tv_sec = q.pause_ms / 1000, .tv_nsec = q.pause_ms % 1000 * 1000000L }, NULL);
    } while (q.pause_ms > 0);
    return EXIT_SUCCESS;
}
