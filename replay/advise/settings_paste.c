/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/advise/settings_paste.h"

#include "policies/pytorch/pytorch_conf.h"
#include "report/text/text.h"

#include <assert.h>

unsigned settings_fraction_call(const struct settings *s, const struct pytorch_rules *rules)
{
    assert(s->fraction_percent <= 100);
    return rules->has_fraction_option ? 0 : s->fraction_percent;
}

/* CUDA's variable is read wherever CUDA is; other builds have their own. */
static const char *find_variable(const struct pytorch_rules *rules, enum platform platform)
{
    const char *own = platform_variable(platform);
    return own == NULL || rules->is_npu ? pytorch_conf_variable(rules) : own;
}

void settings_put_paste(FILE *out, const struct settings *s, const struct pytorch_rules *rules, enum platform platform,
                        const char *indent)
{
    char text[SETTINGS_TEXT];
    const char *variable = find_variable(rules, platform);
    const unsigned fraction = settings_fraction_call(s, rules);
    const bool is_windows = platform_shell(platform) == SHELL_WINDOWS;
    if (settings_text(s, rules, false, text)[0] == '\0')
        fprintf(out, is_windows ? "%sset %s=" : "%sunset %s", indent, variable);
    else
        platform_put_setting(out, platform_shell(platform), variable, text, indent);
    if (fraction > 0)
        fprintf(out, "\n%storch.%s.set_per_process_memory_fraction(0.%02u)  # at the program's start", indent,
                rules->is_npu ? "npu" : "cuda", fraction);
}

void setting_words_json(struct json_writer *json, const struct setting_words *s)
{
#define ANSWER_TABLE "answers/setting_words.def"
#include "answers/as_json.def"
}

void settings_put_json(struct json_writer *w, const struct settings *s, const struct pytorch_rules *rules)
{
    setting_words_json(w, &(struct setting_words){ s, rules });
}
