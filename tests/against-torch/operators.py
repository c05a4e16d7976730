#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What runs on the host runs under `replay run-sim`: PyTorch's public operators and modules, with the small inputs that
PyTorch's own tests give them.

    operators.py [--build FOLDER] [--share 1.0] [--seed 0] [--samples 4] [NAME ...]

by a Python that has torch and expecttest. The inputs are OpInfo's and ModuleInfo's
(torch.testing._internal.common_methods_invocations, common_modules), and those of more_calls.py. Each is made on the
host and tried there, without any hook; then it is moved to the card and tried again, with a backward pass if there is
one. What raises on the card and not on the host is a fault, unless it stands in LEFT with its reason. A NAME is a part
of an operator's.
Exit status 0: no fault.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import more_calls

ROOT = pathlib.Path(__file__).resolve().parents[2]
AT_ONCE_SECONDS = 120                                # for one operator: it hangs
DTYPES = ("float32", "int64", "bool", "complex64", "bfloat16")

# An operator whose failure is no fault, and why.
LEFT = {
    "torch.linalg.lstsq": "other drivers than gels are the host's alone",
    "torch.linalg.lstsq.grad_oriented": "other drivers than gels are the host's alone",
    "torch.sparse.mm.reduce": "the host's alone",
    "torch.torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "the host's alone",
    "torch.tensor_split": "sections and places that are a tensor have to lie on the host",
    "torch.linalg.eig": "a batch without a matrix: it fails before PyTorch has read more than that all is finite",
    "torch.linalg.eigvals": "the same",
}


# ---- in the program that is run on the simulated card ----

def of_database(o):
    """(name, function that lists samples as (call on the host, call on the card))."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for op in op_db:
        variant = "." + op.variant_test_name if op.variant_test_name else ""
        yield "torch." + op.name + variant, lambda op=op: operator_samples(torch, op, o)
    for module in module_db:
        yield module.module_cls.__module__ + "." + module.module_cls.__name__, \
            lambda module=module: module_samples(torch, module, o)
    for text in more_calls.CALLS:
        yield "more: " + text.partition("\n")[0][:60], lambda text=text: text_samples(torch, text)


def text_samples(torch, text):
    def call(device):
        names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "D": device}
        exec(compile(text, "more_calls", "exec"), names)
    yield lambda: call("cpu"), lambda: call("cuda")


def dtype_of(torch, op):
    both = op.supported_dtypes("cpu") & op.supported_dtypes("cuda")
    return next((d for d in (getattr(torch, name) for name in DTYPES) if d in both), None)


def spread(samples, n):
    """n of the samples, from the first to the last."""
    samples = list(samples)
    return samples if len(samples) <= n else [samples[i * (len(samples) - 1) // max(1, n - 1)] for i in range(n)]


def moved(torch, x):
    """The same on the card, a leaf if it was one."""
    if isinstance(x, torch.Tensor):
        y = x.detach().to("cuda")
        return y.requires_grad_(x.requires_grad) if x.requires_grad else y
    if isinstance(x, (torch.device, str)) and str(x) == "cpu":
        return "cuda" if isinstance(x, str) else torch.device("cuda")
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple, torch.Size):
        return type(x)(moved(torch, y) for y in x)
    if type(x) is dict:
        return {k: moved(torch, v) for k, v in x.items()}
    return x


def copied(torch, x):
    """The same on the host, so that a call cannot change what the next one gets."""
    if isinstance(x, torch.Tensor):
        y = x.detach().clone()
        return y.requires_grad_(x.requires_grad) if x.requires_grad else y
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple, torch.Size):
        return type(x)(copied(torch, y) for y in x)
    if type(x) is dict:
        return {k: copied(torch, v) for k, v in x.items()}
    return x


def backward(torch, out):
    outs = [t for t in torch.utils._pytree.tree_leaves(out)
            if isinstance(t, torch.Tensor) and t.requires_grad and t.layout == torch.strided]
    if outs:
        torch.autograd.backward(outs, [torch.ones_like(t) for t in outs])


def operator_samples(torch, op, o):
    dtype = dtype_of(torch, op)
    if dtype is None:
        return
    has_gradient = op.supports_autograd and dtype.is_floating_point
    for sample in spread(op.sample_inputs("cpu", dtype, requires_grad=has_gradient), o.samples):
        parts = sample.input, sample.args, sample.kwargs

        def call(change, parts=parts):
            first, args, kwargs = (change(torch, x) for x in parts)
            backward(torch, op(first, *args, **kwargs))
        yield lambda call=call: call(copied), lambda call=call: call(moved)


def module_samples(torch, module, o):
    if torch.float32 not in module.dtypes:
        return
    samples = module.module_inputs_func(module, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
    for sample in spread(samples, o.samples):
        made, given = sample.constructor_input, sample.forward_input
        if given is None:
            continue

        def call(device, change, made=made, given=given):
            one = module.module_cls(*change(torch, made.args), **change(torch, made.kwargs)).to(device)
            out = one(*change(torch, given.args), **change(torch, given.kwargs))
            backward(torch, out)
            one.eval()(*change(torch, given.args), **change(torch, given.kwargs))
        yield lambda call=call: call("cpu", copied), lambda call=call: call("cuda", moved)


def say(**record):
    os.write(3, (json.dumps(record) + "\n").encode())


def try_samples(torch, name, samples):
    for host, card in samples():
        try:
            torch.manual_seed(0)
            with torch._C.DisableTorchFunction():
                host()
        except Exception:
            continue                                 # not a call that runs
        say(tried=name)
        try:
            torch.manual_seed(0)
            card()
        except Exception as error:
            say(failed=name, why="%s: %s" % (type(error).__name__, str(error).strip().partition("\n")[0][:300]))


def chosen(o):
    draw = random.Random(o.seed)
    return [(name, samples) for name, samples in of_database(o)
            if draw.random() < o.share and (not o.names or any(n in name for n in o.names))]


def work(o):
    import signal
    import torch

    torch.zeros(1, device="cuda")
    for i, (name, samples) in itertools.islice(enumerate(chosen(o)), o.first, None):
        say(begun=i, name=name)
        signal.alarm(AT_ONCE_SECONDS)
        try:
            try_samples(torch, name, samples)
        except Exception as error:                   # the samples themselves cannot be made here
            say(without=name, why=str(error)[:200])
        signal.alarm(0)
    say(done=True)


# ---- beside it ----

def run_once(o, first, records):
    """Runs operators from the `first` one on, until the end or until one kills the program."""
    with tempfile.NamedTemporaryFile() as out:
        options = {"first": first, "share": o.share, "seed": o.seed, "samples": o.samples}
        command = [str(o.build.resolve() / "replay"), "run-sim", "--device", o.device, "--",
                   sys.executable, "-W", "ignore", __file__, "--work",
                   *("--%s=%s" % option for option in options.items()), *o.names]
        shell = ["bash", "-c", 'exec "$@" 3>"$0"', out.name, *command]
        done = subprocess.run(shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = [json.loads(line) for line in open(out.name)]
    records += found
    if not found:
        sys.exit(done.stdout[-3000:])
    if o.said:
        print(done.stdout)
    last = [r for r in found if "begun" in r][-1:]
    if "done" in found[-1] or not last:
        return None
    records.append({"failed": last[0]["name"], "why": "the program died: " + done.stdout[-200:].strip()})
    return last[0]["begun"] + 1


def report(records):
    tried = collections.Counter(r["tried"] for r in records if "tried" in r)
    begun = {r["name"] for r in records if "begun" in r}
    failed = collections.defaultdict(list)
    for r in records:
        if "failed" in r:
            failed[r["failed"]].append(r["why"])
    faults = {name: why for name, why in failed.items() if name not in LEFT}
    for name, why in sorted(failed.items()):
        print("%-6s  %s: %d samples: %s%s" % ("left" if name in LEFT else "FAILED", name, len(why), why[0],
                                             "; " + LEFT[name] if name in LEFT else ""))
    without = [r["without"] for r in records if "without" in r]
    print("%d operators and modules looked at, %d with samples that run on the host, %d samples tried; "
          "failed: %d operators, %d samples; left: %d; samples could not be made: %s" %
          (len(begun), len(tried), sum(tried.values()), len(faults), sum(map(len, faults.values())),
           len(failed) - len(faults), " ".join(without) or "none"))
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--device", default="NVIDIA H200")
    parser.add_argument("--share", default=1.0, type=float)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--samples", default=4, type=int)
    parser.add_argument("--said", action="store_true", help="show what the program and run-sim said")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", default=0, type=int, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", default=[])
    o = parser.parse_args()
    if o.work:
        return work(o)
    records, first = [], 0
    while first is not None:
        first = run_once(o, first, records)
    sys.exit(report(records))


if __name__ == "__main__":
    main()
