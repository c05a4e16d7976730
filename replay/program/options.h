/*
 * The command line: one table of options for all commands; a command says which of them it takes.
 */
#ifndef REPLAY_REPLAY_PROGRAM_OPTIONS_H
#define REPLAY_REPLAY_PROGRAM_OPTIONS_H

#include "base/err.h"
#include "import/import.h"
#include "replay/engine/engine.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(NAME, flag, argument, help): the flag also has the short form of its first letter where that is 'o' for out. */
#define OPTION_LIST(X)                                                                                      \
    X(POLICY, "policy", "P", "a policy to run, as replay --list shows; may be given several times")         \
    X(DEVICE, "device", "D", "the card: sim:24GiB, sim:h100-80g, sim:24GiB,context=450MiB, sim:unlimited; of a replay also a real one: cuda:0,limit=8GiB") \
    X(JSON, "json", "FILE", "write the results as JSON; '-' is standard output, and then nothing else goes there") \
    X(CSV, "csv", "FILE", "write the results as CSV, one row per policy")                                   \
    X(HTML, "html", "FILE", "write a page that a browser opens from disk")                                  \
    X(MD, "md", "FILE", "write Markdown, for a comment on a pull request")                                  \
    X(FAIL_IF, "fail-if", "CONDITION", "exit status 1 if a run meets it; may be given several times")       \
    X(SAMPLES, "samples", "FILE", "write the series over time as CSV")                                      \
    X(PERFETTO, "perfetto", "FILE", "write a timeline for ui.perfetto.dev or chrome://tracing, as JSON")         \
    X(SAMPLE_EVERY, "sample-every", "N", "events between samples, or a time: 10ms, 1s (default: 1000 samples)")     \
    X(ON_OOM, "on-oom", "stop|skip", "what a refused request does: end the run, or be left out (default: stop)") \
    X(START, "start", "fresh|faithful", "where a trace begins that starts in mid-run: with its live requests placed anew, or from the recorded segments and blocks (default: fresh)") \
    X(AUDIT, "audit", NULL, "check every placement against an independent map of what is live")             \
    X(PRICE, "price", "SIZE", "what a millisecond of driver time counts as, in bytes of the card, when runs are compared (default: 1MiB)") \
    X(THREADS, "threads", "N", "threads to run policies in (default: one per core)")                        \
    X(SEED, "seed", "N", "seed of everything random (default: 0)")                                          \
    X(STACKS, "stacks", NULL, "record the call stack of each allocation as well")                          \
    X(TORCH_HISTORY, "torch", NULL, "record the requests to PyTorch's allocator as well: its own snapshot")      \
    X(SIMULATE, "simulate", "D", "run the command without a GPU, on this simulated card: 24GiB, sim:h100-80g")  \
    X(GPU, "gpu", "N", "which device of a file that recorded several")                                      \
    X(FROM, "from", "NAME", "the file's format, where it should not be recognised")                         \
    X(RELEASES, "releases", "WHO", "who released segments without a request: auto, program (empty_cache), allocator") \
    X(EVENTS, "events", "N", "how many events to generate")                                                 \
    X(OUT, "out", "FILE", "where to write the trace, the database of results, or the snapshot (also -o FILE)") \
    X(ABBREVIATED, "abbreviated", NULL, "leave out the rows of the small and the large pool")                \
    X(EXPLAIN, "explain", "EVENT|end", "account for all memory in front of this event, or at the end, as at the first refusal") \
    X(INSERT, "insert", "WHAT", "what if cached memory were given back: flush@mark:NAME, flush@every:N (events)") \
    X(WARM, "warm", "SIZE", "what if the program first took that much in one request and gave it back: 8GiB") \
    X(TORCH, "torch", "VERSION", "the release whose settings are searched, such as 2.6 (default: the recorded one)")    \
    X(SHARD, "shard", "I/N", "run only the I-th of N equal parts of the sweep, I from 1")                   \
    X(RESUME, "resume", NULL, "go on with a database that must be there already")                           \
    X(SHOW_JOB, "show-job", NULL, "print the job file of this command line, and run nothing")               \
    X(AT, "at", "EVENT", "the moment in front of this event, instead of the end")                              \
    X(RECORD, "record", "FILE", "write the program's memory trace, and PyTorch's snapshot beside it")       \
    X(TORCH_LIBS, "torch-libs", "FOLDER", "whose libraries get stand-ins (default: those of the torch that the command's Python imports)") \
    X(TOUCH, "touch", NULL, "on a real card: write to all memory when it is obtained, so that it is really there") \
    X(CALIBRATE, "calibrate", NULL, "measure what calls cost on the real card, and print it as options of sim") \
    X(HELP, "help", NULL, "this text")

#define OPTION_ENUM(name, flag, argument, help) OPTION_##name,
enum option_id { OPTION_LIST(OPTION_ENUM) OPTION_IDS };
#undef OPTION_ENUM

#define OPTION_BIT(name) (UINT64_C(1) << OPTION_##name)
static_assert(OPTION_IDS <= 64, "an option has a bit of its own");

enum { FAIL_IF_MAX = 16 };

/* What was typed. The texts are argv's own. */
struct options {
    uint64_t    given;                       /* OPTION_BITs */
    const char **inputs;                     /* what is not an option, in order; released with options_close */
    size_t      n_inputs;
    const char **policies;                   /* released with options_close */
    size_t      n_policies;
    const char *fail_if[FAIL_IF_MAX];
    size_t      n_fail_if;
    const char *html, *md;
    const char *device, *json, *csv, *samples, *perfetto, *out, *from, *torch, *insert, *warm;
    uint64_t    sample_every_events, sample_every_ns, seed, events, explain, at;
    uint64_t    price;                       /* --price, in bytes per ms of driver time; else the default */
    const char **devices;                    /* --device, each time it was given; released with options_close */
    size_t      n_devices;
    enum oom_action on_oom;
    enum start_mode start;
    bool        audit, is_abbreviated, touch, calibrate;
    unsigned    threads;
    struct import_config import;
    uint64_t    shard, n_shards;             /* 1 <= shard <= n_shards; both 0 without --shard */
    const char *texts[OPTION_IDS];           /* values as typed; NULL: not given, or without a value */
};

/* Reads argv[0, argc) (without program and command). `taken`: OPTION_BITs of those that the command knows. ERR_USAGE
 * with what is wrong, with the nearest name for an unknown option. */
MUST_USE enum err options_parse(int argc, char **argv, uint64_t taken, struct options *out, struct err_detail *why);
void options_close(struct options *o);

/* The name of an option, without the dashes, and whether it takes a value. */
const char *option_name(enum option_id id);
bool option_has_value(enum option_id id);

/* The lines of --help for the options in `taken`. */
void options_print(FILE *out, uint64_t taken);

#endif
