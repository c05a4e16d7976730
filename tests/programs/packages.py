#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs programs of well-known packages under `replay run-sim`, each twice, and writes the table of doc/programs.md.

    PYTHONPATH=FOLDER_WITH_TORCH tests/programs/packages.py --packages FOLDER [--replay build/replay]
        [--write doc/programs.md] [NAME ...]

The packages are fetched by pip into FOLDER, once. package_programs.py has the programs; NAME is one of them or a
pattern ('ranks_*'). No weights and no data are fetched. Exit status: 0 if every program did what its row promises.
"""
import argparse
import concurrent.futures
import fnmatch
import importlib.metadata
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Those that ask for torch come without what they ask for, so that pip leaves the torch that is there.
PACKAGES = ["transformers==5.23.0", "diffusers==0.42.1", "torch_geometric==2.8.1", "lightning-utilities==0.15.3",
            "psutil"]
ON_TORCH = ["torchvision==0.24.1", "accelerate==1.15.0", "peft==0.21.2", "lightning==2.6.6", "pytorch-lightning==2.6.6",
            "torchmetrics==1.9.0", "triton==3.5.1", "bitsandbytes==0.50.2", "hjson", "msgpack", "ninja", "py-cpuinfo",
            "pydantic", "pydantic-core", "annotated-types", "typing-inspection", "einops"]
BUILT = ["deepspeed==0.19.8"]                        # Python alone: its kernels are left out, as they need a compiler
# Packages that do not go with the others lie in a folder of their own, named after their program.
APART = {
    "llama_torchtune": ["torchtune==0.6.1", "torchao==0.14.1", "omegaconf==2.3.0", "antlr4-python3-runtime==4.9.3",
                        "sentencepiece", "tiktoken", "kagglehub", "blobfile", "datasets", "torchdata==0.11.0",
                        "pyarrow", "pandas", "python-dateutil", "six", "pytz", "tzdata", "dill", "multiprocess",
                        "xxhash", "lxml", "pycryptodomex", "tabulate", "aiohttp", "multidict", "yarl", "frozenlist",
                        "aiosignal", "attrs", "propcache", "aiohappyeyeballs", "requests", "urllib3", "certifi",
                        "charset_normalizer"],
    "torchtitan_start": ["torchtitan==0.2.2", "tyro", "docstring-parser", "typeguard", "shtab", "rich", "tomli"],
    "vllm_start": ["vllm==0.13.0", "msgspec", "cloudpickle", "gguf", "prometheus_client", "openai<2.10",
                   "outlines_core==0.2.11", "lm-format-enforcer==0.11.3", "compressed-tensors==0.12.2", "depyf==0.20.0",
                   "astor", "cachetools", "blake3", "sentencepiece", "mistral_common", "pyzmq", "partial-json-parser",
                   "fastapi", "starlette", "pycountry", "watchfiles", "python-json-logger", "cbor2", "setproctitle",
                   "openai-harmony", "diskcache", "lark", "interegular", "jiter", "distro", "pybase64", "ijson",
                   "protobuf", "scipy", "requests", "urllib3", "certifi", "charset_normalizer", "tiktoken", "aiohttp",
                   "multidict", "yarl", "frozenlist", "aiosignal", "attrs", "propcache", "aiohappyeyeballs", "six",
                   "httpx", "httpcore", "h11", "anyio", "sniffio", "opentelemetry-api", "opentelemetry-sdk",
                   "opentelemetry-semantic-conventions", "importlib-metadata", "zipp", "llguidance<1.4",
                   "xgrammar==0.1.27", "transformers<5", "tokenizers<0.23", "huggingface-hub<1", "numba==0.61.2",
                   "llvmlite<0.45", "numpy<2.3"],
}

# name, the package whose version is shown, ranks, what it is, and the sentence in which it ends if it does not run
PROGRAMS = [
    ("llama_loop", "transformers", 1, "Llama, 4 layers of 512, a plain loop with AdamW", None),
    ("llama_bf16_checkpointing", "transformers", 1, "the same in bf16 with gradient checkpointing", None),
    ("llama_generate", "transformers", 1, "Llama, `generate` of 32 tokens", None),
    ("llama_trainer_bf16", "transformers", 1, "Llama, `Trainer`, bf16, checkpointing, two batches a step", None),
    ("gpt2_autocast", "transformers", 1, "GPT-2, 4 layers of 512, a plain loop under autocast", None),
    ("gpt2_trainer", "transformers", 1, "GPT-2, `Trainer`", None),
    ("bert_loop", "transformers", 1, "BERT, 4 layers of 256, masked words", None),
    ("llama_lora", "peft", 1, "LoRA of rank 8 on the Llama", None),
    ("gpt2_adam8bit", "bitsandbytes", 1, "GPT-2 with `AdamW8bit`", None),
    ("llama_nf4_lora", "bitsandbytes", 1, "the Llama in NF4 with LoRA of rank 8", None),
    ("llama_torchtune", "torchtune", 1, "Llama 3.2, 4 layers of 512, the recipe `full_finetune_single_device`", None),
    ("torchtitan_start", "torchtitan", 1, "its trainer is imported", r"No module named 'torch\.nn\.attention\.varlen'"),
    ("vllm_start", "vllm", 1, "a Llama of 4 layers, eager, two requests of 19 and 299 tokens answered", None),
    ("gpt2_accelerate", "accelerate", 1, "GPT-2, bf16, gradients clipped", None),
    ("gpt2_lightning", "lightning", 1, "GPT-2, `Trainer`, bf16-mixed", None),
    ("unet_diffusers", "diffusers", 1, "UNet2DModel, 32 x 32, DDPM noise", None),
    ("resnet50_torchvision", "torchvision", 1, "ResNet-50, 8 images of 224 x 224", None),
    ("vit_torchvision", "torchvision", 1, "ViT, 4 layers of 384, the same images", None),
    ("detection_torchvision", "torchvision", 1, "Faster R-CNN, one image of 200 x 200", None),
    ("gcn_torch_geometric", "torch_geometric", 1, "two GCNConv, 2,000 nodes", None),
    ("cuda_graph", "torch", 1, "`make_graphed_callables`", None),
    ("cuda_graph_whole_step", "torch", 1, "a captured step with its optimizer, replayed", None),
    ("compiled", "torch", 1, "`torch.compile` with the triton wheel", None),
    ("ranks_ddp", "torch", 2, "DistributedDataParallel", None),
    ("ranks_zero1", "torch", 2, "ZeroRedundancyOptimizer with DistributedDataParallel", None),
    ("ranks_deepspeed_zero3", "deepspeed", 2, "ZeRO-3 of DeepSpeed, bf16", None),
    ("ranks_fsdp1", "torch", 4, "FullyShardedDataParallel", None),
    ("ranks_fsdp2", "torch", 4, "`fully_shard`", None),
    ("ranks_tensor_parallel", "torch", 2, "`parallelize_module`, columns and rows", None),
    ("ranks_fsdp2_and_tensor_parallel", "torch", 4, "a mesh of 2 x 2", None),
    ("ranks_pipeline", "torch", 2, "`Schedule1F1B`, four microbatches", None),
    ("ranks_llama_trainer", "transformers", 2, "Llama, `Trainer`", None),
    ("ranks_values", "torch", 3, "objects, flags and sums between ranks, a barrier", None),
    ("ranks_one_is_lost", "torch", 2, "rank 1 ends early", r"rank\s+: 1 \(local_rank: 1\)"),
]


def install(folder, *packages):
    """The environment of ours would be that of what pip builds."""
    environment = dict(os.environ, DS_BUILD_OPS="0")
    environment.pop("PYTHONPATH", None)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), *packages], check=True,
                   env=environment)


def fetch(folder, names):
    if not (folder / "deepspeed").exists():
        install(folder, *PACKAGES)
        install(folder, "--no-deps", *ON_TORCH, *BUILT)
    for name in APART.keys() & names:
        if not (folder / "apart" / name).exists():
            install(folder / "apart" / name, "--no-deps", *APART[name])


def records(folder):
    """PyTorch's history of each rank: what, where, how much."""
    histories = []
    for path in sorted(folder.glob("*.pickle")):
        with open(path, "rb") as f:
            traces = pickle.load(f)["device_traces"]
        histories.append([(r["action"], r["addr"], r["size"], r["stream"]) for trace in traces for r in trace
                          if r["action"] != "snapshot"])
    return histories


def run(o, program, folder):
    """The exit status, what the program said, and the histories."""
    name, _, ranks, _, _ = program
    folder.mkdir()
    (folder / "work").mkdir()
    (folder / "job").mkdir()
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)] if ranks > 1 else []
    packages = o.packages.resolve()
    paths = [str(packages / "apart" / name), os.environ.get("PYTHONPATH", ""), str(packages)]
    environment = dict(os.environ, PYTHONPATH=":".join(paths),
                       HF_HUB_OFFLINE="1", TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
                       TRITON_CACHE_DIR=str(folder / "triton"))
    child = subprocess.Popen([str(o.replay.resolve()), "run-sim", "--device", "24GiB,count=%d" % ranks, "--record",
                              str(folder / "job" / "t.zst"), "--", sys.executable, "-W", "ignore", *launch,
                              str(HERE / "package_programs.py"), name], cwd=folder / "work", env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said = child.communicate(timeout=o.within)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return 1, child.communicate()[0] + "\ndoes not end in %d seconds\n" % o.within, []
    return child.returncode, said, records(folder / "job")


def failure(said, ends_in):
    """The line in which a program ends as foreseen; otherwise the first error that it printed."""
    lines = said.strip().splitlines()
    errors = [line for line in lines if re.search(ends_in or r"^(\[rank\d+\]: *)?[\w.]*(Error|Exception)\b", line)]
    line = re.sub(r"/\S*/", "", (errors or lines[-1:] or ["(nothing)"])[0])          # not where the packages lie
    return re.sub(r"\s+", " ", line).strip()


def worst_rank(o, folder):
    done = subprocess.run([str(o.replay.resolve()), str(folder), "--json", "-"], stdout=subprocess.PIPE)
    worst = json.loads(done.stdout or b"{}").get("worst", "")
    return re.sub(r".*\.rank(\d+)\..*", r"\1", worst) or "not named"


def peaks_of(said):
    return sorted(int(n) for n in re.findall(r"peak (\d{7,})", said))


def compare(first, second):
    """Two runs in words: every record, or at least every request in its order."""
    (_, said, history), (_, said_again, again) = first, second
    requests, requests_again = ([[r[2] for r in h if r[0] == "alloc"] for h in each] for each in (history, again))
    n_records, n_requests = (format(sum(map(len, each)), ",") for each in (history, requests))
    peak = max(peaks_of(said_again), default=0) - max(peaks_of(said), default=0)
    in_peak = "the peak" if peak == 0 else "not the peak (%+d)" % peak
    if history == again:
        return "equal, %s records" % n_records
    if requests == requests_again:
        return "equal in all %s requests and in %s, not in the order of frees" % (n_requests, in_peak)
    return "**differs** in requests; equal in %s" % in_peak


def row(o, program):
    """A row of the table, and whether the program did what it should."""
    name, package, ranks, what, ends_in = program
    with tempfile.TemporaryDirectory() as temporary:
        first = status, said, _ = run(o, program, pathlib.Path(temporary, "first"))
        second = run(o, program, pathlib.Path(temporary, "second")) if status == 0 else None
        if o.keep:
            o.keep.mkdir(exist_ok=True)
            (o.keep / (name + ".log")).write_text(said)
        peaks = peaks_of(said)
        worst = worst_rank(o, pathlib.Path(temporary, "first", "job")) if ranks > 1 and status == 0 else ""
    paths = [str(o.packages / "apart" / name), *sys.path]
    version = next(importlib.metadata.distributions(name=package, path=paths)).version
    if status != 0:
        is_right = ends_in is not None and re.search(ends_in, said) is not None
        result = ["-", "stops: `%s`" % failure(said, ends_in)]
    else:
        is_right = len(peaks) == ranks and ends_in is None
        result = [format(max(peaks, default=0), ",") + (" (rank %s)" % worst if ranks > 1 else ""),
                  compare(first, second)]
        is_right &= result[1].startswith("equal")
    return "| %s | %s %s | %d | %s | %s | %s |" % (name, package, version, ranks, what, *result), is_right


def write(path, lines):
    """Puts the table where the page has its old one."""
    text = path.read_text()
    path.write_text(re.sub(r"(?<=\n\n)\| program \|.*?\n(?=\n|$)", lambda _: "\n".join(lines) + "\n", text, flags=re.S))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--replay", type=pathlib.Path, default=HERE.parents[1] / "build/replay")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what the programs say")
    parser.add_argument("--within", type=int, default=120, help="seconds for a run")
    parser.add_argument("--jobs", type=int, default=2, help="programs at once")
    parser.add_argument("names", nargs="*")
    o = parser.parse_args()
    sys.path.append(str(o.packages))
    lines = ["| program | version | ranks | what | peak reserved, worst rank | the second run |",
             "|---|---|---|---|---|---|"]
    chosen = [p for p in PROGRAMS if not o.names or any(fnmatch.fnmatch(p[0], name) for name in o.names)]
    fetch(o.packages, {program[0] for program in chosen})
    all_right = True
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for line, is_right in pool.map(lambda program: row(o, program), chosen):
            print(line, flush=True)
            lines.append(line)
            all_right &= is_right
    if o.write:
        write(o.write, lines)
    sys.exit(not all_right)


if __name__ == "__main__":
    main()
