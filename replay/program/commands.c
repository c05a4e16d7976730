/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The table of commands. */
#include "replay/program/cli.h"

#include "base/nearest.h"

#include <assert.h>
#include <string.h>

static const struct command_entry command_table[] = {
#define GROUP(title) {.group = title},
#define COMMAND(name) {.command = &cmd_##name},
#include "replay/program/commands.def"
#undef COMMAND
#undef GROUP
};

enum { N_ENTRIES = sizeof command_table / sizeof command_table[0], SLIPS_MAX = 2 };

const struct command_entry *command_entry_at(size_t i)
{
    assert(i >= N_ENTRIES || (command_table[i].group == NULL) != (command_table[i].command == NULL));
    return i < N_ENTRIES ? &command_table[i] : NULL;
}

const struct subcommand *subcommand_find(const char *name)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct subcommand *c = command_table[i].command;
        if (c != NULL && c->name != NULL && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const struct subcommand *subcommand_nearest(const char *typed)
{
    struct nearest nearest = {.typed = typed, .n_typed = strlen(typed)};
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct subcommand *c = command_table[i].command;
        if (c != NULL && c->name != NULL)
            nearest_offer(&nearest, c->name, strlen(c->name));
    }
    return nearest.distance <= SLIPS_MAX ? subcommand_find(nearest.name) : NULL;
}
