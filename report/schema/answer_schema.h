/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What an answer in JSON holds. Each answer is a table, answers/NAME.def: members with key, type, value and meaning.
 * answers/as_json.def makes its writer from it, answers/as_members.def the rows below, from which its JSON Schema is
 * printed.
 */
#ifndef REPLAY_REPORT_SCHEMA_ANSWER_SCHEMA_H
#define REPLAY_REPORT_SCHEMA_ANSWER_SCHEMA_H

#include "report/rows/result_columns.h"

#include <stdbool.h>
#include <stdio.h>

enum member_kind {
    MEMBER_VALUE, MEMBER_VALUES,     /* a value; an array of values */
    MEMBER_LISTS,                    /* an array of arrays of values */
    MEMBER_FIELD,                    /* a number, a text or null */
    MEMBER_MAP,                      /* an object whose keys depend on what was asked; its values are of one type */
    MEMBER_OBJECT, MEMBER_OBJECTS,   /* an object, an array of objects: the members up to MEMBER_END */
    MEMBER_PART, MEMBER_PARTS,       /* an object of another table, and an array of them */
    MEMBER_MEMBERS,                  /* the members of another table stand here */
    MEMBER_IF, MEMBER_END_IF,        /* members between these may be missing */
    MEMBER_END,
};

struct answer_member {
    enum member_kind kind;
    const char *key;
    const char *type;                /* of JSON: "string", "integer", "number", "boolean" */
    bool        may_be_null;
    const char *part;                /* the other table's name */
    const char *only;                /* the only value that there is; NULL: any */
    const char *words;               /* the only values that there are, "a|b"; NULL: any */
    const char *meaning;             /* a sentence */
};

/* A table of members, or a part of a table of result_columns.def, or all columns of a database. */
struct answer_table {
    const char *name;
    const struct answer_member *members;     /* up to a MEMBER_END of its own; NULL: they are columns */
    enum column_kind columns;
    size_t begin, end;                       /* the columns from `begin` on, before `end` or their end */
    bool is_database;                        /* columns of all kinds by their names: a database may lack any of them */
};

/* The i-th table, NULL after the last; and the table of a name or of a command, NULL: there is none. */
const struct answer_table *answer_table_at(size_t i);
const struct answer_table *answer_table_find(const char *name);

/* The table as JSON Schema (2020-12). An object of another table has that table's name as its title. */
void answer_schema_print(FILE *out, const struct answer_table *t);

#endif
