/* The table of pytorch_profile.h, unrolled for one release. */
#include "policies/pytorch_profile.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    long        minor;
} pytorch_releases[PYTORCH_RELEASES] = {
    {"2.0", 0},   {"2.4", 4},   {"2.6", 6},   {"2.9", 9},   {"2.10", 10},
    {"2.11", 11}, {"2.12", 12}, {"2.13", 13}, {"2.14", 14}, {"2.15", 15},
};

const char *pytorch_release_name(enum pytorch_release r)
{
    return pytorch_releases[r].name;
}

bool pytorch_release_find(const char *text, enum pytorch_release *out)
{
    if (strncmp(text, "2.", 2) != 0 || text[2] < '0' || text[2] > '9')
        return false;
    char *end;
    const long minor = strtol(text + 2, &end, 10);
    if (*end != '\0' && *end != '.' && *end != '+')
        return false;
    size_t i = PYTORCH_RELEASES - 1;
    while (pytorch_releases[i].minor > minor)
        i--;
    *out = (enum pytorch_release)i;
    return true;
}

struct pytorch_profile pytorch_profile_of(enum pytorch_release r)
{
    return (struct pytorch_profile){
        .release = r,
#define PYTORCH_RULE(name, first, last, says) .name = r >= PYTORCH_##first && r <= PYTORCH_##last,
        PYTORCH_RULES(PYTORCH_RULE)
#undef PYTORCH_RULE
    };
}

bool pytorch_profile_find(const char *text, struct pytorch_profile *out)
{
    enum pytorch_release release = PYTORCH_2_4;
    const bool is_npu = strcmp(text, "npu") == 0;
    if (!is_npu && !pytorch_release_find(text, &release))
        return false;
    *out = pytorch_profile_of(release);
    out->is_npu = is_npu;
    return true;
}

const char *pytorch_profile_name(const struct pytorch_profile *profile)
{
    return profile->is_npu ? "npu" : pytorch_release_name(profile->release);
}
