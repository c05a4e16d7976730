/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One file of a recording as a JSON object. */
#include "dryrun/run/recorded_file.h"

static void recorded_file_json(struct json_writer *json, const struct recorded_file *f)
{
#define ANSWER_TABLE "answers/recorded_file.def"
#include "answers/as_json.def"
}

void recorded_file_put(struct json_writer *json, const struct recorded_file *f)
{
    if (json == NULL)
        return;
    json_put_object(json, NULL);
    recorded_file_json(json, f);
    json_end_object(json);
}
