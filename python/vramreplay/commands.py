# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""One function for each question. Each runs the program once and returns its answer.

What all of them take:

    recording     path of a file: PyTorch's snapshot, or a trace of ours
    gpu           the device to take, of a file that recorded several
    from_         the format of the file; None: recognised
    given_back    who gave segments back when no request did: "auto", "program", "allocator"
    memory_limit  what a file may unpack to, such as "20GiB"; None: 1000 times its size
    progress      called with what is being done and the part done (0 to 1, or None)
    timeout       seconds after which subprocess.TimeoutExpired is raised

The other arguments are the options of the command of the same name; `replay COMMAND --help` describes them. Raises
InputError and HostError (vramreplay.errors). Ctrl-C ends the program and leaves nothing half written.
"""
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from vramreplay import results, running
from vramreplay.running import Progress
from vramreplay.sampled import Samples
from vramreplay.words import GivenBack, OnOom, Start, System

if TYPE_CHECKING:
    import pyarrow

Path = Union[str, "os.PathLike[str]"]
Names = Union[str, Sequence[str], None]


def info(recording: Path, *, gpu: Optional[int] = None, from_: Optional[str] = None,
         given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
         progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Info:
    """What a recording holds."""
    options = dict(gpu=gpu, from_=from_, given_back=given_back, memory_limit=memory_limit)
    return results.Info.from_answer(running.ask("info", [recording], options, progress, timeout))


def replay(recording: Path, *, policy: Names = None, device: Names = None, on_oom: Optional[OnOom] = None,
           start: Optional[Start] = None, audit: bool = False, threads: Optional[int] = None,
           price: Optional[str] = None, seed: Optional[int] = None, plan: bool = False,
           explain: Union[int, str, None] = None, insert: Optional[str] = None, warm: Optional[str] = None,
           touch: bool = False, gpu: Optional[int] = None, from_: Optional[str] = None,
           given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
           progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Replay:
    """What other policies or cards would have made of a recording: one run per policy and card."""
    options = dict(policy=policy, device=device, on_oom=on_oom, start=start, audit=audit, threads=threads, price=price,
                   seed=seed, plan=plan, explain=explain, insert=insert, warm=warm, touch=touch, gpu=gpu,
                   from_=from_, given_back=given_back, memory_limit=memory_limit)
    return results.Replay.from_answer(running.ask("replay", [recording], options, progress, timeout))


def refuse_text(recording: Any) -> None:
    """ValueError of an error's text in the place of a path: that there is no such file says nothing."""
    is_text = isinstance(recording, str) and ("\n" in recording or re.search("out ?of ?memory", recording, re.I))
    if is_text and not os.path.exists(recording):
        raise ValueError("why takes the path of a file, and this is the text of an error. Write it to one: "
                         "pathlib.Path('oom.txt').write_text(text); vramreplay.why('oom.txt')")


def why(recording: Path, *, device: Optional[str] = None, system: Optional[System] = None,
        threads: Optional[int] = None, gpu: Optional[int] = None, from_: Optional[str] = None,
        given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
        progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Why:
    """Why a program ran out of memory, and what cures it. Reads a file with the text of PyTorch's error as well."""
    refuse_text(recording)
    options = dict(device=device, system=system, threads=threads, gpu=gpu, from_=from_, given_back=given_back,
                   memory_limit=memory_limit)
    return results.Why.from_answer(running.ask("why", [recording], options, progress, timeout))


def who(recording: Path, *, at: Union[int, str, None] = None, by: Optional[results.WhoBy] = None,
        grew: Optional[str] = None, gpu: Optional[int] = None, from_: Optional[str] = None,
        given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
        progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Who:
    """Who holds the live memory at a moment: every group, largest first."""
    options = dict(at=at, by=by, grew=grew, gpu=gpu, from_=from_, given_back=given_back, memory_limit=memory_limit)
    return results.Who.from_answer(running.ask("who", [recording], options, progress, timeout))


def fit(recording: Path, *, policy: Names = None, device: Optional[str] = None,
        system: Optional[System] = None, threads: Optional[int] = None, price: Optional[str] = None,
        gpu: Optional[int] = None, from_: Optional[str] = None, given_back: Optional[GivenBack] = None,
        memory_limit: Optional[str] = None, progress: Optional[Progress] = None,
        timeout: Optional[float] = None) -> results.Fit:
    """The smallest card on which no request is refused, per policy."""
    options = dict(policy=policy, device=device, system=system, threads=threads, price=price, gpu=gpu, from_=from_,
                   given_back=given_back, memory_limit=memory_limit)
    return results.Fit.from_answer(running.ask("fit", [recording], options, progress, timeout))


def tune(recording: Path, *, device: Optional[str] = None, torch: Optional[str] = None,
         system: Optional[System] = None, threads: Optional[int] = None, price: Optional[str] = None,
         seed: Optional[int] = None, gpu: Optional[int] = None, from_: Optional[str] = None,
         given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
         progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Tune:
    """The best setting of PyTorch's allocator for a recording."""
    options = dict(device=device, torch=torch, system=system, threads=threads, price=price, seed=seed, gpu=gpu,
                   from_=from_, given_back=given_back, memory_limit=memory_limit)
    return results.Tune.from_answer(running.ask("tune", [recording], options, progress, timeout))


def blame(recording: Path, *, policy: Optional[str] = None, device: Optional[str] = None,
          system: Optional[System] = None, threads: Optional[int] = None, gpu: Optional[int] = None,
          from_: Optional[str] = None, given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
          progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Blame:
    """Which rule of PyTorch's allocator holds how much of what no request asked for."""
    options = dict(policy=policy, device=device, system=system, threads=threads, gpu=gpu, from_=from_,
                   given_back=given_back, memory_limit=memory_limit)
    return results.Blame.from_answer(running.ask("blame", [recording], options, progress, timeout))


def shrink(recording: Path, *, keep: str, out: Optional[Path] = None, script: Optional[Path] = None,
           policy: Optional[str] = None, device: Optional[str] = None, gpu: Optional[int] = None,
           from_: Optional[str] = None, given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
           progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Shrink:
    """The smallest recording that still does it: `keep` is "refused", "peak>=20GiB" or "differs:POLICY"."""
    options = dict(keep=keep, out=out, script=script, policy=policy, device=device, gpu=gpu, from_=from_,
                   given_back=given_back, memory_limit=memory_limit)
    return results.Shrink.from_answer(running.ask("shrink", [recording], options, progress, timeout))


def adversary(policy: str, other: Optional[str] = None, *, calls: Optional[int] = None, device: Optional[str] = None,
              seed: Optional[int] = None, effort: Optional[int] = None, pools: bool = False,
              out: Optional[Path] = None, script: Optional[Path] = None, progress: Optional[Progress] = None,
              timeout: Optional[float] = None) -> results.Adversary:
    """The shortest program that separates two allocators, or drives one to need most."""
    options = dict(calls=calls, pools=pools, device=device, seed=seed, effort=effort, out=out, script=script)
    policies = [policy] if other is None else [policy, other]
    return results.Adversary.from_answer(running.ask("adversary", policies, options, progress, timeout))


def verify(recording: Path, *, policy: Optional[str] = None, device: Optional[str] = None, gpu: Optional[int] = None,
           from_: Optional[str] = None, given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
           progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Verify:
    """Whether the pytorch policy makes every decision that was recorded."""
    options = dict(policy=policy, device=device, gpu=gpu, from_=from_, given_back=given_back, memory_limit=memory_limit)
    return results.Verify.from_answer(running.ask("verify", [recording], options, progress, timeout))


def diff(a: Path, b: Optional[Path] = None, *, policy: Names = None, device: Optional[str] = None,
         on_oom: Optional[OnOom] = None, start: Optional[Start] = None, gpu: Optional[int] = None,
         from_: Optional[str] = None, given_back: Optional[GivenBack] = None, memory_limit: Optional[str] = None,
         no_replay: bool = False, progress: Optional[Progress] = None,
         timeout: Optional[float] = None) -> results.Diff:
    """What differs between two recordings, two policies on one of them (`b` left out), or two results.

    Two results of one run each are replayed to see where they part, if their recording is there, unless `no_replay`.
    """
    options = dict(policy=policy, device=device, on_oom=on_oom, start=start, gpu=gpu, from_=from_,
                   given_back=given_back,
                   memory_limit=memory_limit, no_replay=no_replay)
    inputs = [a] if b is None else [a, b]
    return results.Diff.from_answer(running.ask("diff", inputs, options, progress, timeout))


def predict(program: Sequence[Path], *, device: Names = None, policy: Names = None, range: Optional[str] = None,
            steps: Optional[int] = None, within: Optional[int] = None, no_overlay: bool = False,
            out: Optional[Path] = None, torch_libs: Optional[Path] = None, values: Optional[str] = None,
            threads: Optional[int] = None, price: Optional[str] = None, progress: Optional[Progress] = None,
            timeout: Optional[float] = None) -> results.Predict:
    """Which card a program needs, and how large its batch may be. Runs it on the simulated card, without a GPU.

    `program` is a list of words: ["python", "train.py", "--batch", "{batch}"] with range="batch=1..256". `within` are
    seconds that a run may take. What the program writes is thrown away, unless `no_overlay`; the recording stays, at
    `out` or as the answer's member `recording` says. What the program prints goes to the file `log`.
    """
    options = dict(device=device, policy=policy, range=range, steps=steps, within=within, no_overlay=no_overlay,
                   out=out, torch_libs=torch_libs, values=values, threads=threads, price=price)
    return results.Predict.from_answer(running.ask_program("predict", program, options, progress, timeout))


def bisect(program: Sequence[Path], *, good: str, bad: Optional[str] = None, package: Optional[str] = None,
           more_than: Optional[str] = None, device: Optional[str] = None, steps: Optional[int] = None,
           within: Optional[int] = None, no_overlay: bool = False, torch_libs: Optional[Path] = None,
           values: Optional[str] = None, threads: Optional[int] = None, progress: Optional[Progress] = None,
           timeout: Optional[float] = None) -> results.Bisect:
    """Which commit of the repository in whose folder this process is raised the program's peak, or which release of
    `package`. Predicts some of those between `good` and `bad`, in a worktree or a folder of its own."""
    options = dict(good=good, bad=bad, package=package, more_than=more_than, device=device, steps=steps, within=within,
                   no_overlay=no_overlay, torch_libs=torch_libs, values=values, threads=threads)
    return results.Bisect.from_answer(running.ask_program("bisect", program, options, progress, timeout))


def serve(program: Sequence[Path], *, device: Names, try_: bool = False, range: Optional[str] = None,
          ask: bool = False, trace: Optional[Path] = None, step_us: Optional[int] = None,
          within: Optional[int] = None, no_overlay: bool = False, torch_libs: Optional[Path] = None,
          progress: Optional[Progress] = None, timeout: Optional[float] = None) -> results.Serve:
    """How many tokens the KV cache of a vLLM or SGLang server holds. Starts the server without a GPU, and stops it.

    `program` is a list of words: ["vllm", "serve", "./model", "--max-model-len", "8192"]. `within` are seconds that a
    start may take; with `try_` other choices are tried, each by a start of its own. range="max-model-len=8192..131072"
    searches the largest value with which it starts; `trace` is a file of requests to play against the cache, in steps
    of `step_us`. With `ask` the server serves a full step once it is ready.
    """
    options = dict(device=device, try_=try_, range=range, ask=ask, trace=trace, step_us=step_us, within=within,
                   no_overlay=no_overlay, torch_libs=torch_libs)
    return results.Serve.from_answer(running.ask_program("serve", program, options, progress, timeout))


def samples(recording: Path, *, policy: Names = None, device: Optional[str] = None,
            sample_every: Union[int, str, None] = None, on_oom: Optional[OnOom] = None, start: Optional[Start] = None,
            gpu: Optional[int] = None, from_: Optional[str] = None, given_back: Optional[GivenBack] = None,
            memory_limit: Optional[str] = None, progress: Optional[Progress] = None,
            timeout: Optional[float] = None) -> Samples:
    """The memory figures of a replay over time."""
    options = dict(policy=policy, device=device, sample_every=sample_every, on_oom=on_oom, start=start, gpu=gpu,
                   from_=from_, given_back=given_back, memory_limit=memory_limit)
    names = running.input_words([recording])
    words = [*names, *running.option_words(options), "--samples", "-"]
    return Samples.from_csv(running.run(words, names, progress, timeout).decode())


def text(command: str, *recordings: Path, progress: Optional[Progress] = None,
         timeout: Optional[float] = None, **options: Any) -> str:
    """What the program prints for a person, of any command. Lines have at most 80 columns where they can be broken."""
    names = running.input_words(recordings)
    words = ([] if command == "replay" else [command]) + names + running.option_words(options)
    return running.run(words, names, progress, timeout).decode()


def requests(recording: Path, *, gpu: Optional[int] = None, from_: Optional[str] = None,
             memory_limit: Optional[str] = None, progress: Optional[Progress] = None,
             timeout: Optional[float] = None) -> "pyarrow.Table":
    """The requests of a recording, their ends and refusals, as an Arrow table: time (ns), op, ptr, size, stream.

    What `replay export --to csv` writes; pointers and streams are texts in hexadecimal. ImportError without pyarrow.
    """
    import pyarrow
    import pyarrow.csv

    names = running.input_words([recording])
    options = running.option_words(dict(gpu=gpu, from_=from_, memory_limit=memory_limit))
    written = running.run(["export", *names, "--to", "csv", "-o", "-", *options], names, progress, timeout)
    types = {"time": pyarrow.uint64(), "op": pyarrow.string(), "ptr": pyarrow.string(), "size": pyarrow.uint64(),
             "stream": pyarrow.string()}
    return pyarrow.csv.read_csv(pyarrow.py_buffer(written),
                                convert_options=pyarrow.csv.ConvertOptions(column_types=types))
