/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Numbers, rows and sentences of a server's answer. */
#include "dryrun/served_words.h"

#include "base/units.h"
#include "dryrun/served_tries.h"

#include <inttypes.h>
#include <string.h>

bool served_is_told(int64_t value)
{
    return value != SERVER_UNTOLD;
}

const char *served_gib(int64_t bytes, char buf[TEXT_NUMBER])
{
    snprintf(buf, TEXT_NUMBER, "%.2f", (double)bytes / (double)GIB);
    return buf;
}

const char *served_count(int64_t n, char buf[TEXT_NUMBER])
{
    return text_count(n < 0 ? 0 : (uint64_t)n, buf);
}

const char *served_about(int64_t n, char buf[TEXT_NUMBER])
{
    int64_t unit = 1;
    while (n / unit >= 1000)
        unit *= 10;
    const int64_t rounded = n / unit * unit;
    if (rounded >= 1000000)
        snprintf(buf, TEXT_NUMBER, "%.*f million", rounded >= 100000000 ? 0 : rounded >= 10000000 ? 1 : 2,
                 (double)rounded / 1e6);
    else
        served_count(rounded, buf);
    return buf;
}

bool served_ends_sentence(const char *line)
{
    const size_t n = strlen(line);
    return n > 0 && strchr(".!?", line[n - 1]) != NULL;
}

void served_add_row(struct terminal_table *t, const char *what, int64_t bytes, const char *note)
{
    char number[TEXT_NUMBER];
    if (served_is_told(bytes))
        terminal_table_add(t, (const char *const[]){ what, served_gib(bytes, number), note });
}

void served_print_item(FILE *out, const struct words *w)
{
    fprintf(out, "- ");
    words_print_within(out, w, SERVED_SCREEN, 2, 2);
}

void served_add_tried(struct words *w, const struct served_start *s, const char *option)
{
    const struct served_start *try = served_try_of(s, option);
    char tokens[TEXT_NUMBER];
    if (try == NULL || try->budget.verdict == SERVER_FITS_UNKNOWN)
        return;
    words_add(w, " Tried with %s %s:", option, try->choice_value);
    if (try->log.end == SERVER_IS_READY && served_is_told(try->log.tokens))
        words_add(w, " %s tokens.", served_count(try->log.tokens, tokens));
    else
        words_add(w, " it %s.", try->log.end == SERVER_IS_READY ? "starts" : "does not start");
}

void served_add_shares_tried(struct words *w, const struct served_start *s)
{
    const char *starts = s->ask.state == ASKING_NOT_YET ? "that starts" : "that starts and has room for what is asked";
    if (s->least_tried >= 0 || s->most_tried >= 0)
        words_add(w, " Tried here, where libraries take nothing:");
    if (s->most_tried >= 0)
        words_add(w, " %.2f is the most %s%s", s->most_tried, starts, s->least_tried >= 0 ? "," : ".");
    if (s->least_tried >= 0 && s->most_tried >= 0)
        words_add(w, " %.2f the least.", s->least_tried);
    else if (s->least_tried >= 0)
        words_add(w, " %.2f is the least %s.", s->least_tried, starts);
}

void served_refused_size(int64_t bytes, char buf[TEXT_NUMBER])
{
    if (bytes >= (int64_t)GIB)
        snprintf(buf, TEXT_NUMBER, "%.2f GiB", (double)bytes / (double)GIB);
    else
        text_mib((uint64_t)bytes, buf);
}

void served_add_untold(struct words *w, const struct served *all, const struct served_start *s)
{
    const struct server_log *log = &s->log;
    words_add(w, "Whether it starts on %s cannot be told: ", s->card);
    words_add(w, s->is_stopped ? "its engine was not ready after %" PRIu64 " s (--within)."
                               : "it ended before its engine was ready, after %" PRIu64 " s.", s->within_s);
    if (log->kind == SERVER_VLLM && log->version[0] == '\0' && !served_is_told(log->share))
        words_add(w, " No engine of vLLM's began.");
    if (s->failure.line[0] != '\0')
        words_add(w, " It says: %s%s", s->failure.line, served_ends_sentence(s->failure.line) ? "" : ".");
    if (all->has_dummy_tokenizer && strstr(s->failure.line, "tokenizer") != NULL)
        words_add(w, " No tokenizer lies beside the model's config.json, so --skip-tokenizer-init was added: put "
                  "the model's own there.");
    if (strstr(s->failure.line, "ModuleNotFoundError") != NULL)
        words_add(w, " A package that the server imports is missing: install it for the Python that runs it.");
    if (s->kept_log[0] != '\0')
        words_add(w, " All that it printed is in %s.", s->kept_log);
}
