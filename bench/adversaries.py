#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The tables of doc/adversary.md: what separates the releases of PyTorch, and how far each allocator can be driven.

    bench/adversaries.py REPLAY [--write]

Asks `replay adversary` about each pair of neighbouring releases with several settings, and about each policy; prints
the two tables, or writes them into the page. tests/adversary/test_adversary_certificates.py replays their programs.
"""
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "doc/adversary.md"
#: What stands after the release, the card, and how long is searched.
SETTINGS = [("", None, 4), ("roundup_power2_divisions:1", None, 1),
            ("roundup_power2_divisions:[64:2,128:4,>:8]", None, 1), ("max_split_size_mb:64", None, 1),
            ("fraction=0.3", "sim:1000000001", 1), ("garbage_collection_threshold:0.5", "sim:256MiB", 1),
            ("fraction=0.33333333", "sim:60MiB", 1),                     # a limit just below a size of segments
            ("fraction=1.0,garbage_collection_threshold:0.5", "sim:256MiB", 1)]
FIRST, LAST = 0, 15
POLICIES = ("best-fit", "expandable_segments:True", "max_split_size_mb:64", "pow2", "none", "cupy", "tf-bfc", "ort",
            "rmm-pool", "rmm-arena", "rmm-binning", "paddle", "mxnet", "cuda-async", "first-fit", "next-fit",
            "worst-fit", "tlsf", "buddy", "jemalloc-like", "neuron", "gmlake", "mlx")


def ask(replay, *words):
    """The answer; None if a release does not know the setting, or the policy serves no such request."""
    done = subprocess.run([replay, "adversary", *words, "--json", "-"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def size(count):
    return f"{count >> 20}M" if count % (1 << 20) == 0 else f"{count >> 10}K" if count % 1024 == 0 else str(count)


def program(answer):
    """"10M 20M -1": two requests, and the first is freed."""
    return " ".join(size(c["bytes"]) if c["call"] == "request" else f"-{c['request']}" for c in answer["program"])


def outcome(of):
    return "refused" if of["is_refused"] else size(of["peak_reserved_bytes"])


def release_rows(replay, _):
    for setting, card, effort in SETTINGS:
        for minor in range(FIRST, LAST):
            pair = [f"pytorch:version=2.{m}" + (f",{setting}" if setting else "") for m in (minor, minor + 1)]
            answer = ask(replay, *pair, "--effort", str(effort), *(["--device", card] if card else []))
            if answer and answer["is_found"]:
                a, b = map(outcome, answer["outcomes"])
                yield (f"| 2.{minor}, 2.{minor + 1} | {f'`{setting}`' if setting else 'none'} | "
                       f"{card or 'sim:unlimited'} | {answer['calls']} | {a} | {b} | `{program(answer)}` |")


def card_that_refuses(row):
    """In MiB: such cards are searched in steps of two."""
    return int(row.split("|")[4].strip(" M"))


def worst_rows(replay, known):
    """A program that is known stays until a worse one is found."""
    for policy in POLICIES:
        answer = ask(replay, policy)
        if answer and answer["is_found"]:
            row = (f"| `{policy}` | {answer['calls']} | {size(answer['live_peak_bytes'])} | "
                   f"{size(answer['refusing_card_bytes'])} | "
                   f"{answer['refusing_card_bytes'] / answer['live_peak_bytes']:.2f} | {answer['robson']['any']:.2f} | "
                   f"`{program(answer)}` |")
            yield max(known.get(f"`{policy}`", row), row, key=card_that_refuses)


TABLES = {
    "releases": (release_rows, "| releases | setting | card | calls | the first reserves | the second | program |\n"
                               "|---|---|---|---|---|---|---|"),
    "worst": (worst_rows, "| policy | calls | live | card that refuses | times | any, by Robson | program |\n"
                          "|---|---|---|---|---|---|---|")}


def main(replay, *options):
    page = PAGE.read_text()
    for name, (rows, head) in TABLES.items():
        place = re.compile(rf"(<!-- made: {name} -->\n)((?:\|.*\n)*)")
        known = {row.split("|")[1].strip(): row for row in place.search(page)[2].splitlines()}
        table = "\n".join([head, *rows(replay, known)])
        print(table, flush=True)
        page = place.sub(lambda m, t=table: f"{m[1]}{t}\n", page)
    if "--write" in options:
        PAGE.write_text(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
