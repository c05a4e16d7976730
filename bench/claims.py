#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What papers and manuals claim of allocators, beside what the traces of edition 2 say: the table of doc/claims.md.

    bench/claims.py REPLAY [--write]

REPLAY is the program. It runs some policies on all 227 traces, five loads of a server, and its pools. Exit status 1 if
the page says something else.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "doc", "claims.md")
BEGIN, END = "<!-- claims: begin -->\n", "<!-- claims: end -->\n"
POLICIES = ("best-fit", "expandable_segments:True", "gmlake", "gmlake:frag-limit=2MiB", "stalloc", "first-fit",
            "next-fit", "buddy")
LOST = 0.05                              # a trace counts if best-fit loses more than this share of the card


def run(*words):
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def losses(replay):
    """The share of the card at its peak that is not the bound, by trace and policy, and each trace's stratum."""
    words = [word for policy in POLICIES for word in ("--policy", policy)]
    found, strata = {}, {}
    table = run(replay, "bench-suite", "samples", "--edition", "2", "--csv", "-", *words)
    for row in csv.DictReader(table.splitlines()):
        key = row["trace"], row["seed"]
        found.setdefault(key, {})[row["policy"]] = 1 - int(row["bound_bytes"]) / int(row["card_bytes"])
        strata[key] = row["stratum"]
    return found, strata


def against_best_fit(found, strata, policy, only):
    """A sentence: of the traces on which best-fit loses much, what another policy does."""
    traces = [loss for key, loss in found.items() if strata[key] in only and loss["best-fit"] > LOST]
    before, after = (sum(loss[one] for loss in traces) / len(traces) for one in ("best-fit", policy))
    cured = sum(loss[policy] <= LOST for loss in traces)
    worse = sum(loss[policy] > loss["best-fit"] + 0.001 for loss in traces)
    change = after / before - 1
    removed = f"{-change:.0%} of the loss is gone" if change < 0 else f"the loss grows by {change:.0%}"
    return f"{removed} ({before:.1%} of the card, then {after:.1%}); {cured} of {len(traces)} traces end below 5 %, " \
           f"{worse} lose more than before"


def mean_loss(found, policy):
    return f"`{policy}` {sum(loss[policy] for loss in found.values()) / len(found):.1%}"


def server_peak(replay, cache):
    """The live peak of one server, by how it keeps keys and values."""
    load = f"serve:n=200,rate=64,layers=4,width=1024,heads=16,running=16,cache={cache}"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "server.zst")
        run(replay, "generate", load, "--seed", "1", "-o", path)
        return json.loads(run(replay, "info", path, "--json", "-"))["peak_requested_bytes"]


def pool_rows(replay):
    """Of pools for a server's cache, which are no allocators: bench-pools plays requests against them."""
    _, _, windows, _, two = ({pool["pool"]: pool for pool in load["pools"]} for load in
                             json.loads(run(replay, "bench-pools", "--json", "-"))["loads"])
    blocks, jenga = windows["unshared"], windows["jenga"]
    yield ("Blocks of one size waste most of the cache of a model with windows; pages of several sizes do not",
           "Jenga, SOSP 2025",
           f"{blocks['outdated_share']:.0%} of the blocks' memory holds what no layer looks back at (52 of 62 layers "
           f"have a window of 1,024 tokens, a request about 5,400). In pages of several sizes a GiB holds "
           f"{jenga['tokens_per_gib'] / blocks['tokens_per_gib']:.1f} times as many tokens; "
           f"{jenga['external_share']:.0%} of the memory is free between blocks",
           "supported; its cache of prefixes is not modelled, and times are not tested")
    yield ("Models on one card that map their pages on demand use what another leaves", "kvcached, its README",
           f"Two models, asked for 15 seconds each in turn: none waits up to {two['kvcached']['rate_most']:.0f} "
           f"requests a second, and up to {two['paged']['rate_most']:.0f} if each has half. "
           f"{two['kvcached']['external_share']:.0%} of the memory mapped is free inside of pages of 2 MiB",
           "supported; the requests are made up, and the time of mapping is not tested")


def rows(replay):
    found, strata = losses(replay)
    every = set(strata.values())
    programs = every - {"adverse"}
    reserved, contiguous, paged = (server_peak(replay, c) for c in ("reserved,longest=2560", "contiguous", "paged"))
    yield ("Expandable segments reduce fragmentation", "PyTorch's notes on CUDA semantics",
           "Programs: " + against_best_fit(found, strata, "expandable_segments:True", programs) + ". Adverse requests: "
           + against_best_fit(found, strata, "expandable_segments:True", {"adverse"}),
           "supported, with exceptions")
    yield ("Stitching removes fragmentation", "GMLake, ASPLOS 2024",
           "As it comes (512 MiB): " + against_best_fit(found, strata, "gmlake", programs)
           + ". With `frag-limit=2MiB`: " + against_best_fit(found, strata, "gmlake:frag-limit=2MiB", programs),
           "hangs on `fragLimit`")
    yield ("A plan of profiled iterations removes most of PyTorch's fragmentation", "STAlloc, arXiv 2507.16274",
           "Training and experts: " + against_best_fit(found, strata, "stalloc", {"training", "experts"})
           + ". Programs that do not repeat (serving, diffusion): "
           + against_best_fit(found, strata, "stalloc", {"serving", "diffusion"}),
           "supported where iterations repeat; our planner is simpler than the authors'")
    yield ("A cache reserved for the longest request wastes most of itself; pages do not", "PagedAttention, SOSP 2023",
           f"One server's live peak is {reserved / paged:.2f} times as large if it reserves 2,560 tokens a request, "
           f"and {contiguous / paged:.3f} times if it grows by concatenation",
           "supported in direction; the share depends on the lengths asked for, which are made up here")
    yield ("Best fit and first fit hardly differ; next fit is worse", "Johnstone and Wilson, ISMM 1998",
           "Loss in the mean of all traces: "
           + ", ".join(mean_loss(found, policy) for policy in ("best-fit", "first-fit", "next-fit"))
           + ". The first two share places in [zoo](zoo.md), next fit is surely worse than both", "supported")
    yield ("Binary buddies lose a quarter or more by rounding", "Wilson et al., 1995, a survey",
           "Loss in the mean of all traces, holes included: " + mean_loss(found, "buddy"), "consistent")
    large, small = (server_peak(replay, f"mapped,page={page}") for page in (2 << 20, 64 << 10))
    yield ("Contiguous virtual memory wastes as little as paging, if its pages are small", "vAttention, ASPLOS 2025",
           f"The same server's live peak is {large / paged:.2f} times that of a paged cache with pages of 2 MiB mapped "
           f"for each layer, and {small / paged:.3f} times with 64 KiB",
           "supported; of a small model, whose pages of 2 MiB hold 1,024 tokens. Kernels and times are not tested")
    yield from pool_rows(replay)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("replay")
    words.add_argument("--write", action="store_true")
    asked = words.parse_args()
    table = "| claim | by | what the traces say | so |\n|---|---|---|---|\n"
    table += "".join(f"| {' | '.join(row)} |\n" for row in rows(os.path.abspath(asked.replay)))
    with open(PAGE, encoding="utf-8") as page:
        before, rest = page.read().split(BEGIN)
    written, after = rest.split(END)
    if asked.write:
        with open(PAGE, "w", encoding="utf-8") as page:
            page.write(before + BEGIN + table + END + after)
    elif written != table:
        raise SystemExit(f"FAILED: doc/claims.md says something else: {__file__} {asked.replay} --write")


main()
