# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The programs: where each is, how its author ran it, and the recording that it left. Facts only.

An edit is (file, pattern, replacement), as re.sub takes them: what the author changed by hand before the recording, or
what this machine needs. `before` is code of ours that runs before the program.
"""
NO_INIT = """import torch.nn.init as init
for name in ("trunc_normal_", "xavier_uniform_", "kaiming_uniform_", "normal_", "uniform_"):
    setattr(init, name, lambda tensor, *_, **__: tensor)
"""                                                  # large models made on the CPU then need no memory here

COMMON = ["frozendict", "wadler_lindig", "pandas", "python-dateutil", "six", "pytz", "tzdata", "tabulate", "regex",
          "tqdm", "packaging"]
LIBRARIES = {
    "2.6.0": ["einops==0.8.1", "einx==0.3.0", "jaxtyping==0.3.2", *COMMON],
    "2.9.0": ["einops==0.8.1", "einx==0.3.0", "jaxtyping==0.3.2", *COMMON],
    "2.11.0": ["einops==0.8.2", "einx==0.4.3", "jaxtyping==0.3.9", *COMMON],
}

AMPERE = "80GiB,capability=8.0"                      # a card that is not Hopper; which one is not known
WSL = "80GiB,capability=8.9,system=wsl"
WINDOWS = "80GiB,capability=8.9,system=windows"
ROWS = []


def row(name, repository, commit, torch, device, recording, argv, out, **more):
    """recording, out: the blob and the file that the program writes; lists of the same length for several."""
    ROWS.append(dict(name=name, repository=repository, commit=commit, torch=torch, device=device, recording=recording,
                     argv=argv, out=out, **more))


def niu():
    folder = "cs336_systems/profile_memory/"
    for mode, n, blob in (("forward", 100, "baf850cc"), ("forward", 150, "f1c4f97d"), ("forward", 200, "b4768efa"),
                          ("x", 100, "9ab7a6e9"), ("x", 150, "16edf316"), ("x", 200, "cee681b8"),
                          ("forward", -200, "7b5db6e8"), ("x", -200, "4ed70088")):
        mixed = n < 0
        does, stem = ("fw", "forward") if mode == "forward" else ("train", "forward_and_backward")
        script = folder + ("profile_mixprecision_memory.py" if mixed else "profile_memory.py")
        row(f"niu-{does}-{abs(n)}{'-mixed' if mixed else ''}", "NiuHuangxiaozi/assignment2-systems", "9d868b9", "2.6.0",
            WSL, blob, [script, "--mode", mode, "--context_length", str(abs(n))] + ["--use_mixed_precision"] * mixed,
            f"{stem}_memory_snapshot_{abs(n)}{'_mixed_precision' if mixed else ''}.pickle")


def cliff_and_sid():
    for size, mode, blob in (("small", "fwd", "3f32c17f"), ("medium", "bwd", "08fe375e"), ("large", "bwd", "fc5ca9ee"),
                             ("xl", "bwd", "75cd85a9"), ("2.7B", "bwd", "24b4e08f")):
        row(f"cliff-{size}-{mode}", "CliffKai/assignment2-systems", "6051f1e", "2.6.0", "h100", blob,
            ["cs336_systems/benchmark.py", "--model_size", size, "--mode", mode, "--profile_memory"],
            f"memory_snapshot_{size}_{mode}.pickle", path=[".", "cs336-basics"], before=NO_INIT)
    # Indices made on the device and added to there are zeros when they are read back: they become numbers of the host.
    indices = ("cs336-basics/cs336_basics/data.py", r"(torch\.randint\(.*\(batch_size,\)\))", r"\1.tolist()")
    for n, precision, blob, full in ((128, "fp32", "09d97098", 0), (256, "fp32", "0c23672b", 0),
                                     (512, "fp32", "e6cb6b41", 0), (512, "bf16", "3239def3", 0),
                                     (128, "fp32", "8169e1e6", 1)):
        what = "train" if full else "infer"
        row(f"sid-{n}-{precision}-{what}", "sidsoc12/spring2024-assignment2-systems", "12f3dca", "2.6.0", "h100", blob,
            ["cs336_systems/memory_profiling.py", "--context_length", str(n), "--precision", precision]
            + ["--full_train_step"] * full, f"mem_snapshot_ctx{n}_{precision}_{what}.pickle",
            path=[".", "cs336-basics"], before=NO_INIT, edits=[indices])


def small_models():
    row("silm-peak", "silmont2000/assignment2-systems", "133f064", "2.6.0", AMPERE, "b61be409",
        ["cs336_systems/trace_peak_memory.py"], "mem_snapshot.pickle")
    for n, blob in ((128, "21d7b2f0"), (256, "ae8f1963"), (512, "00b3e5c3")):
        row(f"xiao-fw-{n}", "xiaolin2004/assignment2-systems", "c8087c4", "2.6.0", AMPERE, blob,
            ["scripts/benchmark.py", "--vocab-size", "10000", "--context-length", str(n), "--d-model", "768",
             "--num-layers", "12", "--num-heads", "12", "--d-ff", "3072", "--batch-size", "4", "--warmup-steps", "5",
             "--num-steps", "10", "--profile-memory", "--memory-snapshot-file", "m.pickle"], "m.pickle", before=NO_INIT)
    row("wuyh", "Wuyh11/assignment2-systems", "52a0171", "2.6.0", AMPERE, "5585d410",
        ["cs336_systems/profile_memory.py"], "memory_medium_training_ctx128_amp0.pickle", path=[".", "cs336-basics"],
        before=NO_INIT)
    row("hanfa-inf", "HanFa/assignment2-systems", "4210ee8", "2.9.0", AMPERE, ["21506e9c", "209243be"],
        ["cs336_systems/playground/benchmark_toy_model.py", "--model-sizes", "small", "--inference-only"],
        ["trace/playground/benchmark_toy_model_small_FP32_seq_128_inference.pickle",
         "trace/playground/benchmark_toy_model_small_FP32_seq_512_inference.pickle"], labels=["-128", "-512"],
        before=NO_INIT, folders=["trace/playground"],
        write={"cs336_systems-0.dist-info/METADATA": "Metadata-Version: 2.1\nName: cs336-systems\nVersion: 0\n"})
    row("magma", "MAGMA27/assignment2-systems", "15883f2", "2.11.0", WINDOWS, "a80ccc7b",
        ["cs336_systems/benchmarking_script.py"], "memory_snapshot.pickle", path=[".", "cs336-basics"], before=NO_INIT)
    row("char", "Charan6924/assignment2-systems", "4e7e497", "2.11.0", AMPERE, "075dd064",
        ["cs336_systems/benchmark.py", "--mode", "forward"], "memory_snapshot.pickle", path=[".", "cs336-basics"],
        before=NO_INIT)


def yyin():
    for n, blob, mixed in ((128, "d2b5eee1", 0), (256, "f4992901", 0), (512, "933e0ffd", 0), (128, "5b1a98b6", 1),
                           (256, "3fa78ed4", 1), (512, "f9e7ed44", 1)):
        row(f"yyin-fw-{n}{'-mixed' * mixed}", "yyin-dev/cs336-a2", "e667d2a", "2.6.0", "A100 40GB", blob,
            ["benchmark.py", "--context_length", str(n), "--d_model", "1600", "--num_layers", "48", "--num_heads", "25",
             "--d_ff", "6400", "--batch_size", "4", "--num_warmups", "5", "--num_trials", "1", "--forward_only",
             "--profile_memory"] + ["--mixed_precision"] * mixed, "memory_snapshot.pickle", path=[".", "cs336-basics"],
            before=NO_INIT)


def hyper():
    for n, stage, precision, blob in (
            (128, "fw", "fp32", "afc49404"), (128, "fw", "bf16", "9ed017b1"), (128, "fw_with_grad", "fp32", "cdf88b3f"),
            (128, "fw_with_grad", "bf16", "8a3203b7"), (256, "fw", "fp32", "44a6319e"), (256, "fw", "bf16", "58edaeab"),
            (256, "fw_with_grad", "fp32", "57f311f1"), (256, "fw_with_grad", "bf16", "e99c766f"),
            (512, "fw", "fp32", "ec7f0550"), (512, "fw", "bf16", "aa0bb882"), (512, "fw_with_grad", "fp32", "dceeb6a1"),
            (512, "fw_with_grad", "bf16", "7fe70b1d")):
        row(f"hyper-{stage}-{n}-{precision}", "Hyperion-shuo/assignment2-systems", "ee486a4", "2.6.0", AMPERE, blob,
            ["cs336_systems/basic_lm_memory_profile.py", "--size_name", "large", "--context_length", str(n), "--stage",
             stage] + ["--mixed_precision"] * (precision == "bf16"),
            f"results/torch_memory_profiles/memory_snapshot_large_cl{n}_{stage}_{precision}.pickle",
            path=[".", "cs336-basics"], before=NO_INIT, folders=["results/torch_memory_profiles"])


def weds():
    quotes = ("cs336_systems/nsys_profile.py", r'(\{[\w.]+\[)"(\w+)"(\]\})', r"\1'\2'\3")     # Python 3.12's f-strings
    for n, pattern, blob in ((128, "inference", "77da8fef"), (256, "inference", "e0143d82"),
                             (512, "inference", "2afd8bc6"), (1024, "inference", "1cfc21cd"),
                             (128, "training", "0db7d8c0"), (256, "training", "8a4284c4"),
                             (512, "training", "61dcd14d"), (1024, "training", "83e7cb0c")):
        autocast = blob in ("2afd8bc6", "61dcd14d", "83e7cb0c")
        row(f"weds-{pattern}-{n}", "Wedsonlin/assignment2-systems", "8630bcf", "2.11.0", WSL, blob,
            ["nsys_profile.py", "--context_length", str(n), "--d_model", "1024", "--num_layers", "24", "--num_heads",
             "16", "--d_ff", "4096", "--model_name", "medium", "--memory-profile", "true", "--autocast",
             "true" if autocast else "false", "--pattern",
             "forward-only" if pattern == "inference" else "full-training-step"],
            f"../results/medium_{n}_{pattern}_memory_snapshot.pickle", path=[".", "cs336-basics"],
            folder="cs336_systems", folders=["../results"], before=NO_INIT, edits=[quotes])


def liny():
    for n, mode, precision, blob, commit in (
            (128, "forward", "none", "972da1f1", "75c885f"), (128, "forward", "bf16", "e1139f57", "eac34c7"),
            (128, "full_step", "none", "c5fe7494", "e733951"), (128, "full_step", "bf16", "f68696dc", "e733951"),
            (512, "forward", "none", "de79a1c6", "fa2c3e6"), (512, "forward", "bf16", "6499e302", "fa2c3e6"),
            (512, "full_step", "none", "f23d548b", "fa2c3e6"), (512, "full_step", "bf16", "4e0e7ff6", "fa2c3e6"),
            (1024, "forward", "none", "0713a14b", "86eb1ab"), (1024, "forward", "bf16", "06f69eb6", "86eb1ab"),
            (2048, "forward", "none", "8bc56ac7", "9b76303"), (2048, "forward", "bf16", "0b44bffa", "9b76303")):
        row(f"liny-{n}-{mode}-{precision}", "LINYUNLinYun/CS336-assignment2-systems", commit, "2.11.0", "RTX PRO 6000",
            blob, ["benchmark_nvtx.py", "--model-size", "xl", "--context-length", str(n), "--mode", mode,
                   "--mixed-precision", precision, "--profile-memory", "--memory-snapshot", "m.pickle"], "m.pickle",
            path=[".", "cs336-basics"], folder="cs336_systems", before=NO_INIT)


def bolo():
    no_grad = ("scripts/benchmark_base.py", r"# (@torch\.no_grad\(\))", r"\1")                # a switch of the author's
    for n, edits, blob in ((128, [no_grad], "c8575e83"), (512, [], "0df6e0e9"), (2048, [no_grad], "5f809f2e")):
        row(f"bolo-fwd-{n}", "bolongcheng/assignment2-systems", "5fc4888", "2.11.0", AMPERE, blob,
            ["scripts/benchmark_base.py", "--mode", "profile", "--model", "xl", "--option", "fwd", "--context_length",
             str(n)], f"benchmarks/memory_snapshot_xl_fwd_cl{n}_dtypetorch.float32.pickle", path=[".", "cs336-basics"],
            before=NO_INIT, edits=edits, folders=["benchmarks"],
            environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})


# One cell of a notebook; the model is put together from the sizes of its weights.
OCTREE = """import json, sys
sys.path.insert(0, ".")
import torch, torch.nn.functional as F
from src.models.Model_BasicNCA2D_fast import BasicNCA2DFast
torch.set_grad_enabled(False)
class model:
    backbone_ncas = [BasicNCA2DFast(16, 0.5, "cuda", hidden_size=64, input_channels=3, kernel_size=3,
                                    normalization="none")]
with open("figure_single_nca_step.ipynb") as notebook:
    cells = ["".join(c["source"]) for c in json.load(notebook)["cells"] if c["cell_type"] == "code"]
exec(next(c for c in cells if "traditional_single_step" in c))
"""


def octree():
    row("octree-step", "HugePandaCoder/octree-nca-groupeq", "3e8aa21", "2.6.0", AMPERE, "eb35be74", ["driver.py"],
        "mem_snapshots/traditional_single_step.pickle", write={"driver.py": OCTREE}, folders=["mem_snapshots"])


for add in (niu, small_models, octree, cliff_and_sid, yyin, hyper, weds, liny, bolo):
    add()
