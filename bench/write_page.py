#!/usr/bin/env python3
"""Makes the page and the table from what bench/run measured: write_page.py VALUES MACHINE OUT

VALUES has lines `measure,case,metric,value`, repetitions in the order they were taken; MACHINE has `name=value`. Ratios
are taken within a repetition, whose parts ran directly after each other, and only then their median.
"""
import csv
import os
import statistics
import sys

UNITS = {"per_s": "1/s", "mb": "MB", "mib": "MiB", "ratio": "1", "share": "1", "ns": "ns", "event": "B", "sides": "B"}


class Samples:
    """The values of each (measure, case, metric), and what is derived from them."""

    def __init__(self, path):
        self.values = {}
        with open(path, newline="", encoding="utf-8") as file:
            for measure, case, metric, value in csv.reader(file):
                self.values.setdefault((measure, case, metric), []).append(float(value))

    def cases(self, measure):
        return list(dict.fromkeys(case for m, case, _ in self.values if m == measure))

    def derive(self, measure, case, metric, function, *of):
        lists = [self.values[measure, case, name] for name in of]
        self.values[measure, case, metric] = [function(*parts) for parts in zip(*lists, strict=True)]

    def median(self, measure, case, metric):
        return statistics.median(self.values[measure, case, metric])

    def cell(self, measure, case, metric, form, scale=1.0):
        """The median, and the extremes where they differ from it."""
        values = [scale * v for v in self.values[measure, case, metric]]
        low, mid, high = (format(v, form) for v in (min(values), statistics.median(values), max(values)))
        return mid if low == high else f"{mid} ({low} to {high})"

    def shares(self):
        return [v for (_, _, metric), values in self.values.items() if metric == "cpu_share" for v in values]


def derive_all(samples):
    for case in samples.cases("engine"):
        samples.derive("engine", case, "pytorch_to_cheapest_ratio", lambda p, c: p / c,
                       "pytorch_events_per_s", "cheapest_events_per_s")
        samples.derive("engine", case, "loop_and_meter_ns", lambda c, d: 1e9 / c - 1e9 / d,
                       "cheapest_events_per_s", "decode_events_per_s")
    for case in samples.cases("import"):
        samples.derive("import", case, "replay_to_pickle_ratio", lambda r, p: r / p,
                       "replay_mb_per_s", "pickle_load_mb_per_s")


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


def engine_table(s):
    return table(
        ["live blocks", "decode alone", "cheapest policy", "`pytorch`", "`pytorch` / cheapest", "loop and meter, ns"],
        [[f"{int(case.split(':')[1]):,}",
          s.cell("engine", case, "decode_events_per_s", ".1f", 1e-6),
          s.cell("engine", case, "cheapest_events_per_s", ".1f", 1e-6),
          s.cell("engine", case, "pytorch_events_per_s", ".1f", 1e-6),
          s.cell("engine", case, "pytorch_to_cheapest_ratio", ".2f"),
          s.cell("engine", case, "loop_and_meter_ns", ".1f")] for case in s.cases("engine")])


def import_table(s):
    what = {"distinct": "each stack is 40 frames of its own", "shared": "stacks share 40 frames"}
    return table(
        ["snapshot", "MB", "records", "`replay import`, MB/s", "`pickle.load`, MB/s", "ratio", "MiB resident, ours",
         "MiB resident, `pickle.load`"],
        [[what[case],
          f"{s.median('import', case, 'file_mb'):.0f}", f"{s.median('import', case, 'records'):,.0f}",
          s.cell("import", case, "replay_mb_per_s", ".0f"), s.cell("import", case, "pickle_load_mb_per_s", ".0f"),
          s.cell("import", case, "replay_to_pickle_ratio", ".1f"),
          f"{s.median('import', case, 'replay_peak_mib'):.0f}",
          f"{s.median('import', case, 'pickle_load_peak_mib'):.0f}"] for case in s.cases("import")])


def size_table(s):
    return table(
        ["recording", "events", "B/event", "of them times", "B/event with side columns"],
        [[f"`{case}`", f"{s.median('size', case, 'events'):,.0f}",
          f"{s.median('size', case, 'bytes_per_event'):.2f}", f"{s.median('size', case, 'time_bytes_per_event'):.2f}",
          f"{s.median('size', case, 'bytes_per_event_with_sides'):.2f}"] for case in s.cases("size")])


def memory_table(s):
    return table(
        ["events", "file, MB", "writing, MiB resident", "replaying, MiB resident"],
        [[f"{int(case):,}", f"{s.median('memory', case, 'file_mb'):.1f}",
          f"{s.median('memory', case, 'write_peak_mib'):.1f}",
          f"{s.median('memory', case, 'replay_peak_mib'):.1f}"] for case in s.cases("memory")])


PAGE = """\
# Measurements

Written by `bench/run`, all in one run on one machine; the same figures with their extremes are in `results.csv`. Where
a cell has three numbers they are the median of {rounds} repetitions (least to greatest).

- Machine: {cpu}, {cores} cores, {memory_gib} GiB, {kernel}; load average {load} before the start.
- Built by {compiler} {compiler_version}, {build_type}; zstd {zstd}; Python {python}.
- Speeds are by CPU time of the process, so that other work on the machine counts less; our processes had {share:.0%} of
  the time that passed (median; least {least_share:.0%}). Well below 100%, the machine was busy with other things and
  the figures are lower bounds.
- Things compared run in turn, A B C A B C, in each repetition; a ratio is taken within a repetition, and then the
  median of the ratios.

## The engine

Million events a second on one core: the whole of a replay, from the compressed trace in memory through reader, policy
and meter. The traces are generated (`replay generate mix:LIVE`): random requests of 512 B to 64 MiB and frees of any of
them, growing from nothing to about LIVE live ones ({events} million events). The cheapest policy hands out one address
after the other and keeps nothing, so its column is what the engine itself allows; `pytorch` runs with its defaults and
all counters. The last column is the cheapest policy's time for an event less that of decoding it.

{engine}

Aim: `pytorch` 25 and the cheapest policy 75 at 2,000 live blocks.

## Import

A PyTorch snapshot (pickle, protocol 4, made by `tests/make_big_pickle.py`) into a native trace on disk, against
Python's `pickle.load` of the same file, which only builds the objects. Nine tenths of the first file are stack frames;
the second is mostly records.

{imports}

Aim: ten times as fast as `pickle.load`.

## Size of a trace

The bundled recordings of training loops. "Side columns" are what only reports and `verify` read: the number of each
event's record in its source, addresses, call stacks with their texts, recorded segment events. Aim: at most 3 bytes
without them from 2,000 events on.

{sizes}

## Memory over length

The most memory that a process held which wrote, or replayed with `pytorch`, a trace `mix:2000` of that length.
Replaying holds a chunk of at most 2^20 events (24 MiB) and the tables of what is live, so it must not grow any further.

{memory}
"""


def write_page(samples, machine, path):
    events = ", ".join(f"{samples.median('engine', case, 'events') / 1e6:g}" for case in samples.cases("engine"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(PAGE.format(
            **machine, share=statistics.median(samples.shares()), least_share=min(samples.shares()), events=events,
            engine=engine_table(samples), imports=import_table(samples), sizes=size_table(samples),
            memory=memory_table(samples)))


def main():
    values, machine_path, out = sys.argv[1:]
    samples = Samples(values)
    derive_all(samples)
    with open(machine_path, encoding="utf-8") as file:
        machine = dict(line.rstrip("\n").split("=", 1) for line in file)
    write_csv(samples, os.path.join(out, "results.csv"))
    write_page(samples, machine, os.path.join(out, "README.md"))


if __name__ == "__main__":
    main()
