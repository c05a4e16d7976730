#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Makes the page and the table from what bench/run measured: write_page.py VALUES MACHINE KEPT OUT [--only PART]

With --only zoo, command or page, VALUES has that part's figures alone: all else in the page and the table in OUT stays
as it is.
KEPT is the table of an earlier run: what takes long and was not measured this time stays as it was. VALUES has lines
`measure,case,metric,value`, repetitions in the order in which they ran; MACHINE has `name=value`. A ratio is taken
within a repetition, whose parts ran directly after each other; the median is taken of these ratios.
"""
import csv
import os
import re
import statistics
import sys

RMM_PER_S = 110250 / 0.178            # rapidsai/rmm#591, 16 threads
LIBCACHESIM_PER_S = 20e6              # its README: more than that, on one core
# As in bench_engine.c.
ZOO = ["default", "cupy", "tf-bfc", "ort", "rmm-pool", "rmm-arena", "rmm-fixed", "rmm-binning", "paddle", "mxnet",
       "torch-host", "first-fit", "next-fit", "worst-fit", "tlsf", "buddy", "cuda-async", "gmlake", "jemalloc-like",
       "neuron", "stalloc"]
KEPT_MEASURES = {"torch": "PyTorch's own allocator", "import": "import", "scale": "length",
                 "page": "a page in a browser"}
UNITS = {"per_s": "1/s", "mb": "MB", "mib": "MiB", "ratio": "1", "share": "1", "ns": "ns", "ms": "ms", "event": "B",
         "sides": "B"}


def section_of(row):
    """The measure that a row of the table belongs to; a yardstick's stands where its case does."""
    return row["case"] if row["measure"] == "machine" else row["measure"]


class Samples:
    """The values of each (measure, case, metric), and what is derived from them."""

    def __init__(self, path):
        self.values = {}
        with open(path, newline="", encoding="utf-8") as file:
            for measure, case, metric, value in csv.reader(file):
                self.values.setdefault((measure, case, metric), []).append(float(value))

        self.measured = set(self.values)
        self.kept = set()                   # measures of which some is of an earlier run

    def keep(self, path):
        """Takes over rows of an earlier table; of their repetitions only the median and the extremes are known."""
        if not os.path.exists(path):
            return
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if section_of(row) in KEPT_MEASURES]
        cases = {key[:2] for key in self.measured}
        has_torch = any(measure == "torch" for measure, _ in cases)
        for row in rows:
            case = row["measure"], row["case"]
            if case not in cases and not (has_torch and row["measure"] == "torch"):
                some = [float(row[name]) for name in ("min", "median", "max")]
                self.values[case + (row["metric"],)] = some if row["n"] != "1" else some[:1]
                self.kept.add(section_of(row))

    def cases(self, measure):
        return list(dict.fromkeys(case for m, case, _ in self.values if m == measure))

    def derive(self, measure, case, metric, function, *of):
        """Of each repetition; what is kept has its own extremes already."""
        if (measure, case, metric) in self.values and (measure, case, of[0]) not in self.measured:
            return
        lists = [self.values[measure, case, name] for name in of]
        self.values[measure, case, metric] = [function(*parts) for parts in zip(*lists, strict=True)]

    def median(self, measure, case, metric):
        return statistics.median(self.values[measure, case, metric])

    def cell(self, measure, case, metric, form, scale=1.0):
        """The median, and the extremes where they differ from it."""
        values = [scale * v for v in self.values[measure, case, metric]]
        low, mid, high = (format(v, form) for v in (min(values), statistics.median(values), max(values)))
        return mid if low == high else f"{mid} ({low} to {high})"

    def yardstick(self):
        """How fast zstd was all over the run, as a cell."""
        values = [1e-6 * v for key in self.measured if key[0] == "machine" and key[2] == "zstd_plain_events_per_s"
                  for v in self.values[key]]
        return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"

    def origin(self):
        """What is of this run and what is not, as a sentence."""
        kept = [name for measure, name in KEPT_MEASURES.items() if measure in self.kept]
        return "All is of one run." if not kept else f"Of an earlier run, in whole or in part: {', '.join(kept)}."

    def shares(self):
        return [v for (_, _, metric), values in self.values.items() if metric == "cpu_share" for v in values]


def derive_all(samples):
    for case in samples.cases("engine"):
        samples.derive("engine", case, "pytorch_to_cheapest_ratio", lambda p, c: p / c,
                       "pytorch_events_per_s", "cheapest_events_per_s")
        samples.derive("engine", case, "loop_and_meter_ns", lambda c, d: 1e9 / c - 1e9 / d,
                       "cheapest_events_per_s", "decode_events_per_s")
        samples.derive("engine", case, "decode_to_zstd_ratio", lambda d, z: d / z,
                       "decode_events_per_s", "zstd_events_per_s")
        samples.derive("engine", case, "decode_to_plain_ratio", lambda d, z: d / z,
                       "decode_events_per_s", "zstd_plain_events_per_s")
        samples.derive("engine", case, "pytorch_event_ns", lambda p: 1e9 / p, "pytorch_events_per_s")
    for case in samples.cases("zoo"):
        for name in ZOO:
            samples.derive("zoo", case, f"{name}_time_ratio", lambda best, p: best / p,
                           "default_events_per_s", f"{name}_events_per_s")
    for case in samples.cases("command"):
        samples.derive("command", case, "plan_to_none_ratio", lambda plan, none: plan / none, "plan_cpu_ms", "cpu_ms")
    for case in samples.cases("sweep"):
        samples.derive("sweep", case, "sweep_to_lanes_ratio", lambda s, l: s / l,
                       "policy_events_per_s", "lanes_events_per_s")
    for case in samples.cases("torch"):
        if ("torch", case, "torch_ns") in samples.values:
            samples.derive("torch", case, "torch_to_replay_ratio", lambda t, r: t / r, "torch_ns", "replay_ns")
            samples.derive("torch", case, "torch_to_decoded_ratio", lambda t, r, d: t / (r - d),
                           "torch_ns", "replay_ns", "decode_ns")
            samples.derive("torch", case, "torch_to_clock_ratio", lambda t, r: t / r, "torch_ns", "replay_clock_ns")
    for case in samples.cases("import"):
        samples.derive("import", case, "replay_to_pickle_ratio", lambda r, p: r / p,
                       "replay_mb_per_s", "pickle_load_mb_per_s")
        for who in ("replay", "pickle_load"):
            samples.derive("import", case, f"{who}_records_per_s", lambda speed, mb, records: speed * records / mb,
                           f"{who}_mb_per_s", "file_mb", "records")


def unit_of(metric):
    return next((unit for end, unit in UNITS.items() if metric.endswith(end)), "")


def write_csv(samples, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["measure", "case", "metric", "unit", "median", "min", "max", "n"])
        for (measure, case, metric), values in samples.values.items():
            if metric != "cpu_share":
                rows.writerow([measure, case, metric, unit_of(metric)] +
                              [f"{v:.6g}" for v in (statistics.median(values), min(values), max(values))] +
                              [len(values)])


def table(head, rows):
    """Markdown; the first column holds names, the others figures."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def name_of(case):
    """A trace's name as the page has it."""
    what, _, more = case.partition("+")
    if what.startswith("mix:"):
        live, _, streams = what[4:].partition("/")
        text = f"{int(live):,} live" + (f", {streams} streams" if streams else "")
    else:
        text = f"recorded step `{os.path.basename(what).split('.')[0]}`"
    return text + (f", {more}" if more else "")


def engine_table(s):
    return table(
        ["trace", "decode", "cheapest policy", "`pytorch`", "`pytorch`, ns", "a line, ns", "loop and meter, ns",
         "cheapest by the clock", "`pytorch` by the clock"],
        [[name_of(case),
          s.cell("engine", case, "decode_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "cheapest_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "pytorch_events_per_s", ".1f", 1e-6),
          f"{s.median('engine', case, 'pytorch_event_ns'):.0f}",
          f"{1e9 / s.median('engine', case, 'lines_per_s'):.0f}",
          f"{s.median('engine', case, 'loop_and_meter_ns'):.1f}",
          s.cell("engine", case, "cheapest_clock_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "pytorch_clock_events_per_s", ".1f", 1e-6)] for case in s.cases("engine")])


def settings_table(s):
    names = ["default", "max_split", "expandable", "gc"]
    return table(
        ["trace", "default", "`max_split_size_mb:128`", "`expandable_segments`", "`gc=0.7`"],
        [[name_of(case)] + [s.cell("settings", case, f"{name}_events_per_s", ".1f", 1e-6) for name in names]
         for case in s.cases("settings")])


def zoo_table(s):
    cases = s.cases("zoo")
    return table(
        ["policy"] + [head for case in cases for head in (name_of(case), "time / `best-fit`'s")],
        [[f"`{'best-fit' if name == 'default' else name}`"] +
         [cell for case in cases for cell in (s.cell("zoo", case, f"{name}_events_per_s", ".1f", 1e-6),
                                              s.cell("zoo", case, f"{name}_time_ratio", ".1f"))]
         for name in ZOO])


def decode_table(s):
    return table(
        ["trace", "decode", "zstd on the same bytes", "ratio", "zstd on plain records", "ratio", "B/event",
         "plain, B/event"],
        [[name_of(case),
          s.cell("engine", case, "decode_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "zstd_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "decode_to_zstd_ratio", ".2f"),
          s.cell("engine", case, "zstd_plain_events_per_s", ".0f", 1e-6),
          s.cell("engine", case, "decode_to_plain_ratio", ".2f"),
          f"{s.median('engine', case, 'packed_bytes_per_event'):.2f}",
          f"{s.median('engine', case, 'plain_bytes_per_event'):.2f}"] for case in s.cases("engine")])


def lanes_table(s):
    return table(
        ["lanes", "million policy-events/s, all cores", "time on one core, over n runs alone less n - 1 decodes"],
        [[case, s.cell("lanes", case, "policy_events_per_s", ".1f", 1e-6),
          s.cell("lanes", case, "cost_ratio", ".2f")] for case in s.cases("lanes")])


def sweep_table(s):
    what = {"samples": "`samples/`, native traces", "snapshots": "snapshots of others, pickles, not bundled"}
    return table(
        ["recordings", "traces", "events a run", "settings", "replayed", "sweep, million policy-events/s a core",
         "64 lanes, so too", "ratio"],
        [[what[case.split()[0]], f"{s.median('sweep', case, 'traces'):.0f}",
          f"{s.median('sweep', case, 'run_events'):,.0f}", case.split()[1],
          f"{100 * s.median('sweep', case, 'replayed_share'):.0f}%",
          s.cell("sweep", case, "policy_events_per_s", ".1f", 1e-6),
          s.cell("sweep", case, "lanes_events_per_s", ".1f", 1e-6),
          s.cell("sweep", case, "sweep_to_lanes_ratio", ".2f")] for case in s.cases("sweep")])


def others_table(s):
    """What they say of themselves, and ours."""
    rows = [["RMM's replay benchmark, 16 threads", RMM_PER_S], ["libCacheSim, one core", LIBCACHESIM_PER_S]]
    rows += [[f"`pytorch`, one core, {name_of(case)}", s.median("engine", case, "pytorch_events_per_s")]
             for case in s.cases("engine") if case == "mix:2000" or not case.startswith("mix:")]
    rows += [[f"`pytorch`, all cores, 2,000 live, {case} lanes", s.median("lanes", case, "policy_events_per_s")]
             for case in s.cases("lanes")]
    return table(["what", "million policy-events a second", "over RMM's", "over libCacheSim's"],
                 [[what, f"{speed / 1e6:.1f}", f"{speed / RMM_PER_S:.2g}", f"{speed / LIBCACHESIM_PER_S:.2g}"]
                  for what, speed in rows])


def torch_table(s):
    cases = [case for case in s.cases("torch") if case != "release"]
    if not cases:
        return "Not measured yet: `bench/run --torch`."
    return table(
        ["trace", "PyTorch's own, ns an event", "`pytorch`, ns an event", "ratio", "decoding, ns", "ratio without",
         "`pytorch` by the clock", "ratio"],
        [[name_of(case), s.cell("torch", case, "torch_ns", ".0f"), s.cell("torch", case, "replay_ns", ".0f"),
          s.cell("torch", case, "torch_to_replay_ratio", ".1f"), f"{s.median('torch', case, 'decode_ns'):.1f}",
          s.cell("torch", case, "torch_to_decoded_ratio", ".1f"), s.cell("torch", case, "replay_clock_ns", ".0f"),
          s.cell("torch", case, "torch_to_clock_ratio", ".1f")] for case in cases])


def command_table(s):
    return table(
        ["trace", "events", "seconds of the processors", "million events a second of them", "seconds by the clock",
         "with `--plan`, times the processors' time"],
        [[name_of(case), f"{s.median('command', case, 'events'):,.0f}", s.cell("command", case, "cpu_ms", ".2f", 1e-3),
          s.cell("command", case, "cpu_events_per_s", ".1f", 1e-6), s.cell("command", case, "clock_ms", ".2f", 1e-3),
          s.cell("command", case, "plan_to_none_ratio", ".2f")] for case in s.cases("command")])


def seek_table(s):
    return table(
        ["trace", "ms to any of 21 places"],
        [[name_of(case), s.cell("seek", case, "seek_ms", ".1f")] for case in s.cases("seek")])


def scale_table(s):
    return table(
        ["events", "file, MB", "ns an event, four policies together", "MiB resident"],
        [[f"{s.median('scale', case, 'events'):,.0f}", f"{s.median('scale', case, 'file_mb'):.1f}",
          s.cell("scale", case, "event_ns", ".1f"), f"{s.median('scale', case, 'peak_mib'):.0f}"]
         for case in sorted(s.cases("scale"), key=int)])


def import_table(s):
    what = {"distinct": "each stack is 40 frames of its own", "shared": "stacks share 40 frames"}
    return table(
        ["snapshot", "MB", "records", "`replay import`, MB/s", "`pickle.load`, MB/s", "ratio",
         "million records/s, ours", "`pickle.load`", "MiB resident, ours", "`pickle.load`"],
        [[what[case.partition("/")[0]],
          f"{s.median('import', case, 'file_mb'):.0f}", f"{s.median('import', case, 'records'):,.0f}",
          s.cell("import", case, "replay_mb_per_s", ".0f"), s.cell("import", case, "pickle_load_mb_per_s", ".0f"),
          s.cell("import", case, "replay_to_pickle_ratio", ".1f"),
          f"{s.median('import', case, 'replay_records_per_s') / 1e6:.2f}",
          f"{s.median('import', case, 'pickle_load_records_per_s') / 1e6:.2f}",
          f"{s.median('import', case, 'replay_peak_mib'):.0f}",
          f"{s.median('import', case, 'pickle_load_peak_mib'):.0f}"] for case in s.cases("import")])


def size_table(s):
    return table(
        ["recording", "events", "B/event", "of them times", "B/event with side columns"],
        [[f"`{case}`", f"{s.median('size', case, 'events'):,.0f}",
          f"{s.median('size', case, 'bytes_per_event'):.2f}", f"{s.median('size', case, 'time_bytes_per_event'):.2f}",
          f"{s.median('size', case, 'bytes_per_event_with_sides'):.2f}"] for case in s.cases("size")])


def page_table(s):
    return table(
        ["page of", "events", "requests drawn", "policies", "MB", "first paint, ms", "all drawn, ms",
         "CPU ms until it rests", "of the longest task",
         "frames a second, cursor", "frames a second, window", "CPU ms a frame, cursor", "window"],
        [[name_of(case), f"{s.median('page', case, 'events'):,.0f}", f"{s.median('page', case, 'requests'):,.0f}",
          f"{s.median('page', case, 'policies'):.0f}",
          f"{s.median('page', case, 'file_mb'):.2f}", s.cell("page", case, "first_paint_ms", ".0f"),
          s.cell("page", case, "drawn_ms", ".0f"), s.cell("page", case, "tasks_cpu_ms", ".0f"),
          s.cell("page", case, "longest_task_cpu_ms", ".0f"), s.cell("page", case, "cursor_frames_per_s", ".0f"),
          s.cell("page", case, "window_frames_per_s", ".0f"), s.cell("page", case, "cursor_frame_cpu_ms", ".1f"),
          s.cell("page", case, "window_frame_cpu_ms", ".1f")] for case in s.cases("page")])


def memory_table(s):
    return table(
        ["events", "file, MB", "writing, MiB resident", "replaying, MiB resident"],
        [[f"{int(case):,}", f"{s.median('memory', case, 'file_mb'):.1f}",
          f"{s.median('memory', case, 'write_peak_mib'):.1f}",
          f"{s.median('memory', case, 'replay_peak_mib'):.1f}"] for case in s.cases("memory")])


def record_table(s):
    return table(
        ["threads", "call alone, ns", "recorded, ns", "with call stacks, ns"],
        [[case.partition("+")[0]] + [s.cell("record", case.replace("alone", what), "call_ns", ".0f")
                                     for what in ("alone", "recorded", "stacks")]
         for case in s.cases("record") if case.endswith("alone")])


PAGE = """\
# Measurements

Written by `bench/run` on one machine; `results.csv` has the same figures with their extremes. Three numbers in a cell
are the median of {rounds} repetitions or more (least to greatest). {origin}

- Machine: {cpu}, {cores} cores, {memory_gib} GiB, {kernel}; load average {load} before the start.
- How steady it was: between the measurements zstd unpacked the plain records of one trace, at
  {yardstick} million events per second.
- Built by {compiler} {compiler_version}, {build_type}; zstd {zstd}; Python {python}.
- Speeds are by CPU time of the process, so that other work on the machine counts less. Our processes had {share:.0%} of
  the time that passed (median; least {least_share:.0%}). If that is well below 100%, the machine was busy and the
  figures are lower bounds.
- What is compared runs in turn, A B C A B C, in each repetition. A ratio is taken within a repetition; the table has
  the median of these ratios.

## The engine

Million events per second on one core, for a whole replay: from the compressed trace in memory through reader, policy
and meter.

- The traces with a number of live blocks are generated (`replay generate mix:LIVE`): random requests of 512 B to 64 MiB
  and frees of any of them, growing from nothing to about LIVE live blocks; two to five million events, in an order that
  no processor can guess. The recorded step is one step of training, repeated to ten million events.
- The cheapest policy gives one address after the other and remembers nothing, so its column is the limit that the
  engine sets. `pytorch` runs with its defaults and all counters.
- "Loop and meter" is the cheapest policy's time for an event minus the time to decode it.
- "A line" is memory alone: the time to read a line of 64 bytes whose address the previous line holds, in a table with
  one line for each live block. Where that takes longer, so does every allocator that looks at its blocks.
- "By the clock" is the same replay as it runs by default, with a second thread that decodes, by the time that passes.

{engine}

Aim: 25 for `pytorch` and 75 for the cheapest policy at 2,000 live blocks; no cliff from 1,000 to 1,000,000 live blocks.

The same with settings, million events per second. Garbage collection runs on a card of 1.25 times the peak that the
default reserves:

{settings}

{zoo}

## Decoding

Million events per second on one core, from the bytes of a trace to checked events of 24 bytes each in memory. Next to
it zstd alone: on the same bytes, which gives columns and not yet events; and on the events as an array of 24 bytes
each, packed at zstd's default level and unchecked. The latter is a trace without a format of its own, as
libCacheSim keeps it.

{decode}

Aim: as fast as zstd.

## Many lanes

A sweep decodes once for all its lanes; here each lane runs `pytorch` on the trace of 2,000 live blocks. The cost of n
lanes is divided by the cost of n runs alone (half of them before, half after) minus the n - 1 decodes that they save.
Aim: 1.

{lanes}

## Sweep

`replay sweep` with 64 settings of `pytorch` over recordings whose runs are short. So the costs besides events count:
reading the trace, the bounds, opening a lane, its row in the database.

- The settings "tried" are four values each of `max-split`, `gc` and `roundup`, as a person would try them. A run that
  cannot differ from another is not replayed; the table says how many were.
- The settings "distinct" each round some size differently, so all are replayed.

The figure is events times settings, divided by the CPU time of the whole process, from its start to the database on
disk. It is compared with 64 lanes of `pytorch` on 200,000 events of the trace of 2,000 live blocks, in turn.

{sweep}

Aim: 1.

## The command

{command}

## Compared with PyTorch's own allocator

The same events through `libc10_cuda` of PyTorch {release}, called from C++ without Python (`bench/against_torch.cpp`)
on a simulated device whose calls cost next to nothing; and through a whole replay of ours, from the compressed trace
on.

- PyTorch's side reads its events from an array, so "ratio without" compares it with our replay minus decoding.
- "By the clock" a second thread of ours decodes, as by default; PyTorch's side is still its own thread's time.
- PyTorch's figures include its locks, its table of live pointers and a query of the device; history is off.
- Random requests are one million events (two and four million at 50,000 and 400,000 live), beginning with nothing;
  recorded steps are ten million.

{torch}

Aim: ten times.

## Compared with other replayers

Their figures are their own, from their own machines, so the ratios only give the order of magnitude. RMM's replay
benchmark takes 178 ms for 110,250 events with 16 threads (rapidsai/rmm#591). libCacheSim, which replays requests to
caches, does more than 20 million per second on one core (its README) and decodes once per task. Ours are the medians of
the tables above.

{others}

## Import

A PyTorch snapshot (pickle, protocol 4, made by `tests/make_big_pickle.py`) into a native trace on disk, against
Python's `pickle.load` of the same file, which only builds the objects. If every stack has stack frames of its own,
these are nine tenths of the file; if stacks share them, it is mostly records.

{imports}

Aim: ten times as fast as `pickle.load`.

## Size of a trace

The bundled recordings of training loops. "Side columns" are read only by reports and `verify`: the number of each
event's record in its source, addresses, call stacks with their texts, recorded segment events. Aim: at most 3 bytes for
an event without them, from 2,000 events on.

{sizes}

## Seeking

CPU time to go from the start of a trace of five million events to one of its events. Aim: at most 50 ms.

{seek}

## Length

The recorded step, repeated, replayed from a file by four policies at once (`best-fit`, `pow2`,
`max_split_size_mb:128` and the cheapest) on one core. The time for an event must not grow with the length; memory must
stay below 1 GiB.

{scale}

## Memory over length

The peak memory of a process that wrote a trace `mix:2000` of that length, or replayed it with `pytorch`. A replay on
one core holds one chunk of 2^16 events (1.5 MiB; 2^20 events for several policies or many live blocks) and the tables
of live blocks, so it must not grow with the length. A second thread that decodes holds one chunk more.

{memory}

## A page in a browser

{page}

## Recording

CPU time of a call of `cudaMalloc` or `cudaFree` in a runtime that does nothing, with and without the library of
`replay record` in front of it; journals lie on the disk for temporary files. The difference is the cost of recording.
Aim: below 1000.

{record}

## This folder

Only programs and scripts that measure; nothing here is linked into the program or run by the tests. `bench/run --help`
says what can be measured.

| file | what it is |
|---|---|
| `run` | open first: measures everything and rewrites this page and `results.csv` |
| `bench_engine.c`, `made_trace.h`, `cheapest.h`, `lines.h` | what is timed from inside, and on what |
| `bench_record.c`, `null_cudart.c` | the cost of recording |
| `against_torch.cpp` | PyTorch's own allocator on the same events |
| `time_command.py`, `time_sweep.py`, `time_pickle.py` | what is timed from outside |
| `time_page.py` | a page in a browser |
| `claims.py` | what papers claim of allocators beside what the traces say: `doc/claims.md` |
| `plan_gaps.py` | how far `replay plan` is from its bound, on folders of recordings |
| `write_page.py`, `check.py` | this page from the values; what got slower between two runs |
"""


ZOO_PART = """\
The allocators of other libraries, and those that are as described, on the same traces: million events per second, and
the time for an event beside that of `best-fit` in the same round. Aim: at most twice.

{origin}{table}"""
COMMAND_PART = """\
`replay TRACE --policy pytorch` as a person runs it, from its start to its end: the events through policy and meter, the
live data that comes with every answer, and the report. What passes by the clock grows with other work on the machine.
The last column runs the same with the offline plan (`--plan`) in turn.

{origin}{table}"""
BROWSER_PART = """\
The page of `replay report` in headless Chromium, drawn by the processor alone, 1440 pixels wide. A drag moves the
cursor, or the window of time, before every frame; the browser shows at most 60 a second. Processor time is that of the
thread that runs scripts, lays out and paints; 33 ms a frame are 30 frames a second, and a task of 100 ms is felt. What
passes by the clock grows with other work on the machine. Aims: a first paint in less than a second, all drawn in 0.5 s
with 27,000 requests and in 1 s with 200,000, 60 frames a second, no task above 100 ms, and at most 3 MB whatever the
length of the recording.

{origin}{table}"""
PART_ORIGIN = """\
(Of another run than the rest, on {cpu}, {cores} cores; load average {load} before the start. Our processes had
{share:.0%} of the time that passed in the median, {least_share:.0%} at least. zstd unpacked its trace at {yardstick}
million events per second.)

"""


def write_page(samples, machine, path):
    release = samples.values.get(("torch", "release", "number"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(PAGE.format(
            **machine, share=statistics.median(samples.shares()), least_share=min(samples.shares()),
            release=f"{release[0]:g}" if release else "", yardstick=samples.yardstick(), origin=samples.origin(),
            engine=engine_table(samples), decode=decode_table(samples),
            settings=settings_table(samples), zoo=ZOO_PART.format(origin="", table=zoo_table(samples)),
            lanes=lanes_table(samples), sweep=sweep_table(samples),
            command=COMMAND_PART.format(origin="", table=command_table(samples)),
            torch=torch_table(samples), others=others_table(samples),
            imports=import_table(samples), sizes=size_table(samples), seek=seek_table(samples),
            scale=scale_table(samples), memory=memory_table(samples), record=record_table(samples),
            page=BROWSER_PART.format(origin="", table=page_table(samples))))


# What can be measured alone: its part of the page, its table, what follows it, and what its table is one of.
PARTS = {"zoo": (ZOO_PART, zoo_table, "\n\n## Decoding", "policies"),
         "command": (COMMAND_PART, command_table, "\n\n## Compared with PyTorch's own allocator", "the command"),
         "page": (BROWSER_PART, page_table, "\n\n## Recording", "pages")}
ONE_RUN = re.compile(r"All (?:is|but the tables? of .*? is) of one run\.")


def say_one_run(page, of):
    """The page, whose head names each table that is of another run."""
    names = re.findall("policies|pages|the command", ONE_RUN.search(page)[0])
    names += [of] if of not in names else []
    return ONE_RUN.sub(f"All but the table{'s' if len(names) > 1 else ''} of {' and of '.join(names)} is of one run.",
                       page)


def put_part(name, samples, machine, kept, out):
    """One part of the page in OUT, and its rows in the place of those of KEPT."""
    text, make_table, following, of = PARTS[name]
    path = os.path.join(out, "README.md")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    begin, end = page.index(text[:text.index(",")]), page.index(following)
    origin = PART_ORIGIN.format(**machine, share=statistics.median(samples.shares()),
                                least_share=min(samples.shares()), yardstick=samples.yardstick())
    page = page[:begin] + text.format(origin=origin, table=make_table(samples)) + page[end:]
    with open(kept, newline="", encoding="utf-8") as file:
        rows = file.read().splitlines(keepends=True)
    write_csv(samples, os.path.join(out, "results.csv"))
    with open(os.path.join(out, "results.csv"), encoding="utf-8") as file:
        new = file.read().splitlines(keepends=True)[1:]
    is_old = [row.startswith((name + ",", f"machine,{name},")) for row in rows]
    at = is_old.index(True) if True in is_old else len(rows)
    with open(os.path.join(out, "results.csv"), "w", encoding="utf-8") as file:
        file.writelines(rows[:at] + new + [row for row, old in zip(rows[at:], is_old[at:]) if not old])
    with open(path, "w", encoding="utf-8") as file:
        file.write(say_one_run(page, of))


def main():
    values, machine_path, kept, out = sys.argv[1:5]
    samples = Samples(values)
    with open(machine_path, encoding="utf-8") as file:
        machine = dict(line.rstrip("\n").split("=", 1) for line in file)
    if sys.argv[5:6] == ["--only"]:
        derive_all(samples)
        put_part(sys.argv[6], samples, machine, kept, out)
        return
    samples.keep(kept)
    derive_all(samples)
    write_csv(samples, os.path.join(out, "results.csv"))
    write_page(samples, machine, os.path.join(out, "README.md"))


if __name__ == "__main__":
    main()
