/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Results from a JSON, and conditions on them: whatever the bytes, a table or a reason. */
#include "report/rows/run_condition.h"
#include "report/rows/verdict.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void use_table(const struct run_table *t, const struct run_condition *c)
{
    struct verdict v;
    struct words w;
    size_t n_runs = 0;
    FUZZ_EXPECT(verdict_open(t, &v) == ERR_OK);
    for (size_t i = 0; i < v.n_settings; i++)
        n_runs += (size_t)v.settings[i].n_runs;
    FUZZ_EXPECT(n_runs == t->n_rows);
    for (size_t i = 1; i < t->n_rows; i++)
        FUZZ_EXPECT(v.case_of[v.rows_best_first[i - 1]] <= v.case_of[v.rows_best_first[i]]);
    for (size_t i = 0; i < v.n_cases; i++)
        FUZZ_EXPECT(v.cases[i].best_row == VERDICT_NONE || verdict_is_ok(t, v.cases[i].best_row));
    for (size_t i = 0; t->n_rows > 0 && verdict_sentence(&v, i, &w); i++)
        FUZZ_EXPECT(w.n < sizeof w.text);
    for (size_t row = 0; c != NULL && row < t->n_rows; row++)
        (void)run_condition_holds(c, t, row);
    verdict_close(&v);
}

/* The first line is a condition, the rest a JSON. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct run_condition condition, *c = NULL;
    struct run_table t;
    struct err_detail err = { .text = "" };
    const uint8_t *line = n > 0 ? memchr(data, '\n', n) : NULL;
    const size_t n_line = line != NULL ? (size_t)(line - data) : 0, at = line != NULL ? n_line + 1 : 0;
    char *text = strndup((const char *)data, n_line);
    if (text == NULL)
        return 0;
    if (run_condition_parse(text, &condition, &err) == ERR_OK)
        c = &condition;
    else
        FUZZ_EXPECT(err.text[0] != '\0');
    run_table_open(&t);
    err.text[0] = '\0';
    if (run_table_add_json(&t, (const char *)data + at, n - at, UINT64_MAX, "fuzz", &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    use_table(&t, c);
    run_table_close(&t);
    free(text);
    return 0;
}
