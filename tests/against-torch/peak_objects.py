#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What a program's own objects hold at its peak, beside what `replay who --by category` says, program by program.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/peak_objects.py [--build FOLDER] [--programs FILE] [--keep FOLDER]
        [NAME...]

Labels are checked here, and are no truth. Each program runs twice on the simulated card: labelled, and once more with
nothing of replay's in it. There, at the request of the peak, the objects of the process are walked:
parameters and buffers of every module, `.grad` of every leaf, the states of every optimizer, what the program's own
variables hold (HINTS: what some of them are), what an outermost module was given, and what the graph has saved.
Their addresses name the requests that were live. What no object holds is a temporary, a workspace, or a result that
only the library keeps: of these it is counted as right if `who` says one of the three.

labels, rules: bytes that are named as the objects say, with the labels and without. guess: what `who` says is one.
no object: the rest. Exit status: 0 if the labels are right for 99 % of the bytes in each, else 1.
"""
import argparse
import bisect
import gc
import json
import os
import pathlib
import pickle
import runpy
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REST = {"activations", "temporaries", "workspaces"}
# What the program means by its variables; others without a graph of their own are inputs.
HINTS = {
    "gpt_adafactor_sam_accumulate": {"g": "gradients", "e": "gradients", "n": None},
    "maml": {"weights": "parameters", "gradients": "gradients", "loss": None},
    "maml_functional": {"w": "parameters", "g": "gradients", "l": None, "tot": None},
}


# ---- in the program's process ----

def own_variables(frame, path):
    """The variables of the program's own lines, innermost first, with what they enclose."""
    while frame is not None:
        if frame.f_code.co_filename == path:
            for name, value in frame.f_locals.items():
                yield name, value
                for cell in getattr(value, "__closure__", None) or ():
                    yield name, cell.cell_contents
        frame = frame.f_back


def tensors_of(value, depth=0):
    import torch
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)) and depth < 4:
        for one in value.values() if isinstance(value, dict) else value:
            yield from tensors_of(one, depth + 1)


def saved_tensors(roots):
    """What the graphs of these tensors keep."""
    todo, seen = [t.grad_fn for t in roots if t.grad_fn is not None], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo.extend(n for n, _ in node.next_functions)
        for name in [n for n in dir(node) if n.startswith("_saved_")] + ["saved_tensors"]:
            try:
                yield from tensors_of(getattr(node, name, None))
            except RuntimeError:                     # it has been given back
                pass


def places_of(tensors):
    for tensor in tensors:
        try:
            if tensor.is_cuda:
                yield tensor.untyped_storage().data_ptr()
        except (NotImplementedError, RuntimeError):  # it has no memory of its own
            pass


class Walk:
    """The objects of this process, once, at request number `at`."""

    def __init__(self, name, path, at):
        self.name, self.path, self.at, self.depth = name, path, at, 0
        self.places, self.n = {}, 0
        self.has_seen_grads = self.has_seen_states = False
        self.marks = []                              # (requests so far, place, category)
        self.calls = []                              # of outermost modules: [the first request, the last]

    def put(self, tensors, category):
        for place in places_of(tensors):
            self.places.setdefault(place, category)

    def mark(self, tensors, category):
        self.marks += [(self.n, place, category) for place in places_of(tensors)]

    def enter(self, module, args):
        if not self.places:
            self.mark((p for p in module._parameters.values() if p is not None and p.grad_fn is not None), "parameters")
        if self.depth == 0 and not self.places:
            self.mark((t for t in tensors_of(args) if t.grad_fn is None), "inputs")
            self.calls.append([self.n, None])
        self.depth += 1

    def leave(self, *_):
        self.depth -= 1
        if self.depth == 0 and self.calls and self.calls[-1][1] is None:
            self.calls[-1][1] = self.n

    def before_step(self, optimizer, *_):
        """What was on its way when the walk was made has come to its place."""
        if self.places and not self.has_seen_grads:
            self.has_seen_grads = True
            self.mark((p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None), "gradients")

    def after_step(self, optimizer, *_):
        if self.places and not self.has_seen_states:
            self.has_seen_states = True
            self.mark((t for s in optimizer.state.values() for t in tensors_of(s)), "optimizer state")

    def look(self, _place):
        self.n += 1
        if self.n == self.at:
            self.walk()

    def walk(self):
        import torch
        things = gc.get_objects()
        modules = [o for o in things if issubclass(type(o), torch.nn.Module)]
        optimizers = [o for o in things if issubclass(type(o), torch.optim.Optimizer)]
        tensors = [o for o in things if issubclass(type(o), torch.Tensor)]
        hints = HINTS.get(self.name, {})
        mine = [v for frame in sys._current_frames().values() for v in own_variables(frame, self.path)]
        self.put((p for m in modules for p in m.parameters(recurse=False)), "parameters")
        self.put((p for o in optimizers for g in o.param_groups for p in g["params"]), "parameters")
        self.put((b for m in modules for b in m.buffers(recurse=False)), "buffers")
        self.put((t.grad for t in tensors if t.is_leaf and t.grad is not None), "gradients")
        self.put((t for o in optimizers for s in o.state.values() for t in tensors_of(s)), "optimizer state")
        for name, value in mine:
            if hints.get(name):
                self.put(tensors_of(value), hints[name])
        self.put((t for name, v in mine if name not in hints for t in tensors_of(v) if t.grad_fn is None), "inputs")
        self.put(saved_tensors(tensors), "activations")
        self.places.setdefault(0, "none")            # the walk is done


def walk(programs, name, at, out):
    import torch
    import torch.cuda._gpu_trace
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    here = Walk(name, programs, at)
    torch.nn.modules.module.register_module_forward_pre_hook(here.enter)
    torch.nn.modules.module.register_module_forward_hook(here.leave, always_call=True)
    register_optimizer_step_pre_hook(here.before_step)
    register_optimizer_step_post_hook(here.after_step)
    sys.argv[:] = [programs, name, "own.pickle"]
    torch._C._activate_gpu_trace()                   # a call for each request, by any thread, that changes none
    torch.cuda._gpu_trace.register_callback_for_memory_allocation(here.look)
    runpy.run_path(programs, run_name="__main__")
    pathlib.Path(out).write_text(json.dumps([sorted(here.places.items()), here.marks, here.calls]))


# ---- beside it ----

def run_sim(replay, *command):
    """The snapshot that the run leaves."""
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([replay, "run-sim", "--device", "NVIDIA H200", "-o", "t.zst", *command], cwd=work,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-300:])
        return pickle.loads((pathlib.Path(work) / "t.pickle").read_bytes())


def kept(path, make):
    """What is kept there, or else made and kept."""
    if not path.exists():
        path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())


def lives(snapshot):
    """By request, in order: address, and the record that frees it; and how many records there were at the peak."""
    entries, live, requests, used, peak = max(snapshot["device_traces"], key=len), {}, [], 0, (0, 0)
    for i, entry in enumerate(entries):
        if entry["action"] == "alloc":
            live[entry["addr"]] = len(requests)
            requests.append([i, float("inf"), entry])
            used += entry["size"]
            peak = max(peak, (used, -len(requests)))
        elif entry["action"] == "free_completed" and entry["addr"] in live:
            one = requests[live.pop(entry["addr"])]
            one[1] = i
            used -= one[2]["size"]
    return requests, -peak[1]


def truth(requests, at, places, marks, calls):
    """By request that is live at the peak: what the objects say; None: no object holds it."""
    moment, by_place, told, marked = requests[at - 1][0], {}, dict(places), {}
    for i, (_, _, entry) in enumerate(requests):
        by_place.setdefault(entry["addr"], []).append(i)
    for count, place, category in marks:
        order = by_place.get(place, [])
        k = bisect.bisect_left(order, count) - 1
        if k >= 0:
            marked.setdefault(order[k], category)
    found = {}
    for i, (_, ended, entry) in enumerate(requests[:at]):
        if ended > moment:
            category = told.get(entry["addr"])
            is_result = any(a <= i < (at if b is None else b) for a, b in calls)
            category = "activations" if category == "inputs" and is_result else category
            found[i] = marked.get(i, category) if category in (None, "activations") else category
    return found


def label(entry):
    return next((f["name"] for f in entry.get("frames") or [] if f["filename"] == "category"), "unknown")


def relabel(entry, category):
    for frame in [f for f in entry["frames"] if f["filename"] == "category"]:
        entry["frames"].remove(frame)
    entry["frames"] = entry["frames"] + [{"name": category, "filename": "category", "line": 0}]


def who(replay, snapshot):
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "s.pickle"
        path.write_bytes(pickle.dumps(snapshot))
        return json.loads(subprocess.run([replay, "who", str(path), "--by", "category", "--at", "peak", "--json", "-"],
                                         capture_output=True, check=True).stdout)


def is_right(said, category):
    return said == category or (category is None and said in REST)


def judge(replay, name, labelled, walked, walk_of):
    """One line of the table."""
    requests, at = lives(labelled)
    others = lives(walked)[0]
    is_same = [r[2]["size"] for r in requests] == [r[2]["size"] for r in others]
    found = truth(others, at, *walk_of)
    total = right = free = 0
    wrong = {}
    for i, category in found.items():
        entry, size = requests[i][2] if i < len(requests) else {}, others[i][2]["size"]
        total, free = total + size, free + (size if category is None else 0)
        if is_right(label(entry), category):
            right += size
        else:
            key = "%s, labelled %s" % (category or "no object", label(entry))
            wrong[key] = wrong.get(key, 0) + size
        relabel(entry, category or (label(entry) if label(entry) in REST else "temporaries"))
    told = who(replay, labelled)
    for entry in (r[2] for r in requests):
        entry["frames"] = [f for f in entry["frames"] if f["filename"] not in ("category", "nn.Module")]
    guess = who(replay, labelled)
    print("%-30s %9.1f MiB  %7.2f %%  %7.2f %%  %7.2f %%  %7.2f %%%s" % (
        name, total / 2 ** 20, 100 * right / total, 100 * told["agreed_bytes"] / max(1, told["bytes"]),
        100 * guess["guessed_bytes"] / guess["bytes"], 100 * free / total,
        "" if is_same else "  OTHER COURSE"), flush=True)
    for key, size in sorted(wrong.items(), key=lambda w: -w[1])[:4]:
        print("    %9.2f MiB  %s" % (size / 2 ** 20, key), flush=True)
    return right >= 0.99 * total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=HERE.parents[1] / "build", type=pathlib.Path)
    parser.add_argument("--programs", default=HERE / "label_programs.py", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    replay, programs = str(args.build.resolve() / "replay"), str(args.programs.resolve())
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    names = args.names or subprocess.run([replay, "run-sim", "--", sys.executable, programs, "--list"],
                                         capture_output=True, text=True, check=True).stdout.split()
    keep = args.keep or pathlib.Path(tempfile.mkdtemp())
    keep.mkdir(parents=True, exist_ok=True)
    print("%-30s %13s  %9s  %9s  %9s  %9s" % ("program", "peak", "labels", "rules", "guess", "no object"))
    n_right = 0
    for name in names:
        try:
            labelled = kept(keep / (name + ".labelled.pickle"), lambda: run_sim(
                replay, "--labels", "--", sys.executable, "-W", "ignore", programs, name, "own.pickle"))
            out = keep / (name + ".walk.json")
            walked = kept(keep / (name + ".walked.pickle"), lambda: run_sim(
                replay, "--", sys.executable, "-W", "ignore", __file__, "--walk", programs, name,
                str(lives(labelled)[1]), str(out.resolve())))
            n_right += judge(replay, name, labelled, walked, json.loads(out.read_text()))
        except RuntimeError as error:
            print("%-30s did not run: %s" % (name, error), flush=True)
    print("labels at least 99 %% right: %d of %d" % (n_right, len(names)))
    return 0 if n_right == len(names) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--walk"]:
        walk(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
        sys.exit()
    sys.exit(main())
