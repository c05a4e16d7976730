#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Ask `replay why` about every text of tests/texts, and compare with what is known of each.

    tests/why/test_texts.py REPLAY [--half HALF] [--table] [--write PAGE]

HALF is tuned, kept, found and so on (tests/texts/README.md).

Demanded: every text is read, with the right stack and platform, and whether the run ended there; the right cause of at
least 95 %; and never a setting, a variable or a tool that does not exist there. A text that only mentions an error is
told to be none, and one of another error (`none`) is not read.
--table prints the table by form, --write puts it into PAGE between its marks.
"""
import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys

TEXTS = pathlib.Path(__file__).resolve().parents[1] / "texts"
LEAST_CAUSES = 0.95
# Where each setting exists and acts: replay/recording/setting_places.def.
PLACES = {
    "expandable_segments": {"linux", "wsl", "npu"},
    "max_split_size_mb": {"linux", "windows", "wsl", "rocm", "rocm-windows", "npu", "unknown"},
}
VARIABLES = {
    "rocm": "PYTORCH_HIP_ALLOC_CONF", "rocm-windows": "PYTORCH_HIP_ALLOC_CONF", "npu": "PYTORCH_NPU_ALLOC_CONF",
}
# Tools and variables that a platform lacks: what is said there must not name them.
LACKING = {
    "rocm": ("nvidia-smi", "CUDA_VISIBLE_DEVICES"), "jetson": ("nvidia-smi", "CUDA_VISIBLE_DEVICES"),
    "xpu": ("nvidia-smi", "CUDA_VISIBLE_DEVICES", "torch.cuda.", "PYTORCH_CUDA"),
    "npu": ("nvidia-smi", "CUDA_VISIBLE_DEVICES", "torch.cuda.", "PYTORCH_CUDA"),
    "mps": ("nvidia-smi", "CUDA_VISIBLE_DEVICES", "torch.cuda.", "PYTORCH_CUDA", "\"cuda\"", "dmesg", "free -h"),
    "windows": ("export ", "df -h", "dmesg", "free -h", "ulimit"),
    "rocm-windows": ("nvidia-smi", "CUDA_VISIBLE_DEVICES", "export ", "df -h", "dmesg", "free -h", "ulimit"),
}
# It is on already, or it would end the engine at its next start: no setting is right.
WITHOUT_SETTING = ("sets-itself", "engine-ranks", "vllm-tp")
OF_TORCH = ("torch.", "PYTORCH_", "expandable_segments", "outside PyTorch")     # JAX has none of these
OF_2_1 = ("(stacks=", "_dump_snapshot")
GOOD = ("read", "stack", "platform", "end", "cause")
BEGIN, END = "<!-- texts: tests/why/test_texts.py -->", "<!-- end of texts -->"


NO_ERROR = "but is no error of a program"        # what is said of a mention


def ask(replay, path):
    return subprocess.run([replay, "why", path, "--json", "-"], capture_output=True, text=True, check=False)


def is_harmful(said, label):
    """Whether a setting is recommended that does not exist on the label's platform, or under another's variable."""
    setting = said.get("setting")
    if setting is None:
        return False
    if label["form"] in WITHOUT_SETTING:
        return True
    key = setting.split(":")[0]
    allowed = {"PYTORCH_ALLOC_CONF", VARIABLES.get(label["platform"], "PYTORCH_CUDA_ALLOC_CONF")}
    return label["platform"] not in PLACES[key] or said.get("variable", "PYTORCH_ALLOC_CONF") not in allowed


def names_what_lacks(replay, label):
    lacking = LACKING.get(label["platform"], ()) + (OF_TORCH if label["form"].startswith("jax") else ())
    lacking += OF_2_1 if label["release"].startswith(("1.", "2.0")) else ()
    if not lacking:
        return False
    run = subprocess.run([replay, "why", TEXTS / label["file"]], capture_output=True, text=True, check=False)
    said = " ".join(run.stdout.split())
    return any(word in said for word in lacking)


def judge_mention(run):
    is_right = run.returncode != 0 and NO_ERROR in run.stderr
    return dict.fromkeys(GOOD, is_right) | {"harm": False, "said": run.stderr.strip() or "an error"}


def judge_none(run):
    return dict.fromkeys(GOOD, run.returncode != 0) | {"harm": False, "said": "an error of memory"}


def judge(replay, label):
    run = ask(replay, TEXTS / label["file"])
    if label["end"] == "none":
        return judge_none(run)
    if label["end"] == "mention":
        return judge_mention(run)
    if run.returncode != 0:
        return dict.fromkeys(GOOD, False) | {"harm": False, "said": "not read"}
    got = json.loads(run.stdout)
    said = got.get("text") or got.get("words") or got.get("library") or {}
    return {"read": True, "stack": said.get("stack") in label["stack"].split("|"), "end": got["end"] == label["end"],
            "platform": said.get("platform") == label["platform"],
            "cause": got["verdict"] in label["cause"].split("|"),
            "harm": is_harmful(said, label) or names_what_lacks(replay, label),
            "said": f"{said.get('stack')} {said.get('platform')} {got['verdict']} {got['end']} {said.get('setting')}"}


def table(judged):
    forms = collections.defaultdict(list)
    for label, found in judged:
        forms[label["form"]].append(found)
    lines = ["| form | texts | read | stack | platform | end | cause | harmful |", "|---|---|---|---|---|---|---|---|"]
    for form, found in sorted(forms.items()) + [("all", [f for _, f in judged])]:
        counts = [sum(f[k] for f in found) for k in GOOD + ("harm",)]
        lines.append(f"| {form} | {len(found)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"


def write_table(page, text):
    old = page.read_text()
    before, rest = old.split(BEGIN)
    page.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


def failures(judged):
    for label, found in judged:
        wrong = [k for k in GOOD if not found[k]] + ["harm"] * found["harm"]
        if wrong:
            yield f"{label['file']}: {', '.join(wrong)}: {label['stack']} {label['platform']} {label['cause']} " \
                  f"{label['end']}; " \
                  f"said {found['said']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replay")
    parser.add_argument("folders", nargs="*", help="build folder and source folder, which ctest names")
    parser.add_argument("--half", choices=("tuned", "kept", "found", "found-2", "found-3", "kept-3", "found-4",
                                           "found-5", "kept-5", "found-6", "found-7", "found-8", "kept-8",
                                           "found-9", "found-10", "found-11", "found-12",
                                           "found-13", "kept-13", "found-16", "kept-16",
                                           "found-18", "kept-18"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    labels = list(csv.DictReader((TEXTS / "labels.csv").open()))
    judged = [(x, judge(args.replay, x)) for x in labels if args.half in (None, x["half"])]
    for line in failures(judged):
        print(line)
    text = table(judged)
    if args.table:
        print(text)
    if args.write:
        write_table(args.write, text)
    found = [f for _, f in judged]
    causes = sum(f["cause"] for f in found) / len(found)
    print(f"{len(found)} texts, right cause {causes:.1%}")
    is_good = all(f["read"] and f["stack"] and f["platform"] and f["end"] and not f["harm"] for f in found)
    return 0 if is_good and causes >= LEAST_CAUSES else 1


if __name__ == "__main__":
    sys.exit(main())
