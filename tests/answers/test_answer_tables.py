#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program answers is what its tables say (answers/): no member more, none less, each of its type.

    test_answer_tables.py PROGRAM BUILD SOURCE

Also that report/SCHEMA.md and the schemas of the Python package are those of the tables.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

program, _, source = (os.path.abspath(path) for path in sys.argv[1:4])
sys.path.insert(0, os.path.join(source, "python"))
import generate_results as generate                                              # noqa: E402

DATA, TOO_LARGE = "tests/data", "tests/data/extrapolate/too_large"
CNN, ADAM, CUT, EXPAND, FP32 = (f"samples/{name}.trace.zst" for name in (
    "cnn", "mlp-adam", "oom-fragmented", "gpt-varlen-expand", "gpt-fp32"))
# Table, then command lines.
QUESTIONS = {
    "bisect": [["bisect", "--good", "v1", *more, "--", sys.executable, "train.py"]
               for more in ([], ["--bad", "HEAD~4"])],
    "blame": [["blame", CNN], ["blame", CUT], ["blame", EXPAND]],
    "conf": [["conf", "max_split_size_mb:16,nosuch:1"], ["conf", "expandable_segments:True", "--version", "2.9"]],
    "conform": [["conform", "best-fit", "--as", "cupy"]],
    "diff": [["diff", CNN, FP32], ["diff", CNN, CNN], ["diff", CNN, "--policy", "best-fit", "--policy", "none"],
             ["diff", "one.json", "two.json"], ["diff", "two.json", "one.json"], ["diff", "one.json", "both.json"]],
    "extrapolate": [["extrapolate", f"{TOO_LARGE}-8.trace.zst:batch=8", f"{TOO_LARGE}-16.trace.zst:batch=16",
                     f"{TOO_LARGE}-24.trace.zst:batch=24", *more]
                    for more in (["--to", "batch=40"], ["--device", "1GiB"])],
    "fit": [["fit", CUT, "--policy", "best-fit", "--policy", "none"], ["fit", CNN, "--device", "8GiB"],
            ["fit", f"{DATA}/mid-run/expandable@2.9.1.pickle"]],
    "graphs": [["graphs", f"{DATA}/graphs/program.trace.zst", *more] for more in ([], ["--captures", "2,1"])],
    "info": [["info", path] for path in (CNN, CUT, EXPAND, f"{DATA}/mid-run/expandable@2.9.1.pickle")],
    "plan": [["plan", CNN], ["plan", CNN, "--capacity", "1GiB"]],
    "predict": [["predict", *options, "--", sys.executable, "program.py", "{mb}" if "--range" in options else "300"]
                for options in ([], ["--device", "1GiB", "--device", "8MiB"],
                                ["--device", "1GiB", "--range", "mb=1..2000"])],
    "replay": [[path, "--policy", "best-fit", "--policy", "none", "--explain", "end"]
               for path in (CNN, CUT, EXPAND)] + [
        [CNN, "--device", "40MiB", "--device", "sim:unlimited", "--policy", "gc=0.8"]],
    "serve": [["serve", "--no-overlay", "--device", "h100-80g", "--", "cat", f"{DATA}/serve/{name}.log"]
              for name in ("ready", "too-long")],
    "share": [["--share", f"{CNN},{ADAM}@+1s@1GiB", "--device", size] for size in ("60MiB", "sim:unlimited")],
    "shrink": [["shrink", CNN, "--keep", "differs:none"], ["shrink", CNN, "--keep", "peak>=1MiB"]],
    "adversary": [["adversary", *more, "--effort", "1"]
                  for more in (["none", "best-fit"], ["tlsf", "--calls", "9"])],
    "stats": [["stats", CNN], ["stats", CUT]],
    "sweep": [["sweep", CNN, CUT, "--policy", "best-fit", "--policy", "none", "--quiet", "--out", "results.db"],
              ["merge", "results.db", "--out", "merged.db"]],
    "technique": [["technique", FP32, "--optimizer", "sgd"], ["technique", ADAM, "--accumulate", "4:split"]],
    "tune": [["tune", CNN], ["tune", CNN, "--device", "20MiB"], ["tune", "samples/oom-leak.trace.zst"]],
    "verify": [["verify", CNN], ["verify", EXPAND, "--policy", "best-fit"]],
    "why": [["why", *words] for words in (
        [CNN], [CUT], ["samples/oom-too-large.trace.zst", "--device", "8GiB"], ["samples/oom-leak.trace.zst"],
        ["samples/oom-long-run.trace.zst"], ["tests/texts/002-pytorch-2.x.txt"], ["library.txt"])],
    "who": [["who", CNN, *more] for more in ([], ["--by", "category"], ["--at", "end", "--by", "size"])],
}
# `predict` runs a program: one that asks the simulated runtime for as many MiB as its word says.
PROGRAM = """\
import ctypes, sys
runtime = ctypes.CDLL("libcudart.so.12")
sys.exit(runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(int(sys.argv[1]) << 20)))
"""
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list,
         "null": type(None)}
failures = []


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check(value, schema, place):
    """Notes what in the value is not as the schema says."""
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_of(value, name) for name in types):
        failures.append(f"{place}: {value!r} is none of {types}")
    elif isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        failures.extend(f"{place}.{key}: is in no table" for key in value if key not in known)
        failures.extend(f"{place}.{key}: is missing" for key in schema["required"] if key not in value)
        for key, part in value.items():
            check(part, known.get(key, {"type": list(TYPES)}), f"{place}.{key}")
    elif isinstance(value, (dict, list)):
        inner = schema["additionalProperties" if isinstance(value, dict) else "items"]
        for part in value.values() if isinstance(value, dict) else value:
            check(part, inner, f"{place}[]")


def ask(words, folder):
    end = words.index("--") if "--" in words else len(words)         # of our own words
    # A program after "--" is not instrumented, and gets libraries that may be.
    sanitizer = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"} if end < len(words) else {}
    done = subprocess.run([program, *words[:end], "--json", "-", *words[end:]], capture_output=True, text=True,
                          cwd=folder, env=dict(os.environ, **sanitizer))
    if done.returncode > 1:
        failures.append(f"replay {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout else None


def main():
    tables = generate.tabled(program)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{source}/tests/bisect/make_example.sh"], cwd=folder, check=True)
        for link in ("samples", "tests"):
            os.symlink(f"{source}/{link}", f"{folder}/{link}")
        for name, policies in (("one", ["best-fit"]), ("two", ["none"]), ("both", ["none", "best-fit"])):
            typed = [word for policy in policies for word in ("--policy", policy)]
            pathlib.Path(folder, f"{name}.json").write_text(json.dumps(ask([CNN, *typed], folder)))
        pathlib.Path(folder, "program.py").write_text(PROGRAM)
        pathlib.Path(folder, "library.txt").write_text("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED")
        for name, questions in QUESTIONS.items():
            for words in questions:
                check(ask(words, folder), tables[name], name)
    if generate.with_tables(generate.SCHEMA_MD.read_text(), tables) != generate.SCHEMA_MD.read_text():
        failures.append("report/SCHEMA.md: is not what the tables say; run python/generate_results.py PROGRAM --write")
    for path in pathlib.Path(source, "answers").glob("*.def"):
        if path.stem not in tables and not path.stem.startswith(("as_", "undefine")):
            failures.append(f"{path}: no table of `replay --schema` is made of it")
    if not failures:
        check({"schema": 7}, tables["who"], "a wrong answer")
        if len(failures) < 4:
            failures.append("a wrong answer passes")
        else:
            failures.clear()
    print("\n".join(failures) or "every answer is what its table says")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
