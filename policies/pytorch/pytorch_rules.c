/* The table of pytorch_rules.h, unrolled for one release. */
#include "policies/pytorch/pytorch_rules.h"

#include <stdlib.h>
#include <string.h>

static const char *const pytorch_releases[PYTORCH_RELEASES] = {
    "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15",
};

const char *pytorch_release_name(enum pytorch_release r)
{
    return pytorch_releases[r];
}

enum pytorch_release pytorch_release_first_alike(enum pytorch_release r)
{
    switch (r) {
    case PYTORCH_2_4:
        return PYTORCH_2_3;
    case PYTORCH_2_6:
    case PYTORCH_2_7:
        return PYTORCH_2_5;
    case PYTORCH_2_11:
        return PYTORCH_2_10;
    case PYTORCH_2_15:
        return PYTORCH_2_14;
    default:
        return r;
    }
}

bool pytorch_release_find(const char *text, enum pytorch_release *out)
{
    if (strncmp(text, "2.", 2) != 0 || text[2] < '0' || text[2] > '9')
        return false;
    char *end;
    const long minor = strtol(text + 2, &end, 10);
    if (*end != '\0' && *end != '.' && *end != '+')
        return false;
    *out = minor < PYTORCH_RELEASES ? (enum pytorch_release)minor : PYTORCH_RELEASES - 1;
    return true;
}

struct pytorch_rules pytorch_rules_of(enum pytorch_release r)
{
    return (struct pytorch_rules){
        .release = r,
#define PYTORCH_RULE(name, first, last, says) .name = r >= PYTORCH_##first && r <= PYTORCH_##last,
        PYTORCH_RULES(PYTORCH_RULE)
#undef PYTORCH_RULE
    };
}

bool pytorch_rules_find(const char *text, struct pytorch_rules *out)
{
    enum pytorch_release release = PYTORCH_2_4;
    const bool is_npu = strcmp(text, "npu") == 0;
    if (!is_npu && !pytorch_release_find(text, &release))
        return false;
    *out = pytorch_rules_of(release);
    out->is_npu = is_npu;
    return true;
}

const char *pytorch_rules_name(const struct pytorch_rules *rules)
{
    return rules->is_npu ? "npu" : pytorch_release_name(rules->release);
}
