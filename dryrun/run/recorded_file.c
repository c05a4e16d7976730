/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One file of a recording as a JSON object. */
#include "dryrun/run/recorded_file.h"

void recorded_file_put(struct json_writer *w, const struct recorded_file *f)
{
    if (w == NULL)
        return;
    json_put_object(w, NULL);
    json_put_text(w, "path", f->path);
    json_put_text(w, "holds", f->holds);
    json_put_number(w, "process", f->process);
    json_put_number_if(w, "device", f->device >= 0, (uint64_t)(unsigned)f->device);
    json_put_number_if(w, "requests", f->is_counted, f->requests);
    json_put_number_if(w, "refused", f->is_counted, f->refused);
    json_end_object(w);
}
