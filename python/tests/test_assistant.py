# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Forty questions as users ask them: the tool that answers each, and the fact that must come back.

A model reads the question, calls a tool and quotes its words. No model is asked here: the call is the one that it
should make, and the fact is a pattern that the words must hold, so that no right call leaves it without an answer.
"""
import asyncio
import pathlib
import re
import shutil
import sys

import mcp
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# (what the user asks, the tool, its arguments, the fact). TEXT stands for a text of tests/texts.
QUESTIONS = [
    ("Which recordings are there?", "files", {}, r"oom-fragmented\.zst"),
    ("Is there one of the evaluation?", "files", {"like": "eval"}, r"gpt-eval-emptycache\.zst"),
    ("What is this file?", "info", {"recording": "oom-fragmented.zst"}, r"26\.37 MiB asked for"),
    ("Which system and release made it?", "info", {"recording": "oom-fragmented.zst"},
     r"profile 2\.9 .*platform Linux"),
    ("Why did my run die?", "why", {"recording": "oom-fragmented.zst"},
     r"Fragmented[^$]*CONF=expandable_segments:True"),
    ("It dies after some epochs. Why?", "why", {"recording": "oom-leak.zst"},
     r"A leak: live memory grows by 16 MiB a step, at /home/ada/leak\.py:22"),
    ("Out of memory in the first step?", "why", {"recording": "oom-too-large.zst"},
     r"Really full: short by at least 39\.92 MiB\. The program died in its first forward pass"),
    ("The card should be free, why is it not?", "why", {"recording": "oom-others.zst"},
     r"the program can have 5898 MiB"),
    ("It holds so much. Is that needed?", "why", {"recording": "oom-long-run.zst"},
     r"Nothing was refused: .* 2408\.76 MiB are cache"),
    ("Did the run go on after the error?", "why", {"recording": "oom-halves-batch.zst"}, r"The program survived it"),
    ("It ran on a 4090, which has room. Why?", "why", {"recording": "oom-fragmented.zst", "device": "4090"},
     r"Somebody else has the memory: .* 22\.04 GiB of the card were not this program's"),
    ("What does this error mean?", "why_text", {"text": "TEXT 001"}, r"Somebody else has the memory"),
    ("vLLM says the KV cache is too small.", "why_text", {"text": "TEXT 826"}, r"Raise --kv-cache-memory-bytes"),
    ("invalid low watermark ratio?", "why_text", {"text": "TEXT 814"}, r"unset PYTORCH_MPS_HIGH_WATERMARK_RATIO"),
    ("Windows: os error 1455", "why_text", {"text": "TEXT 818"}, r"paging file"),
    ("NCCL out of memory at start", "why_text", {"text": "TEXT 815"}, r"NCCL_CUMEM_HOST_ENABLE=0"),
    ("Unable to allocate 206. GiB", "why_text", {"text": "TEXT 820"}, r"206 GiB asked for"),
    ("RESOURCE_EXHAUSTED in JAX", "why_text", {"text": "TEXT 806"}, r"Really full, for XLA"),
    ("The pod was OOMKilled.", "why_text", {"text": "TEXT 191"}, r"The host's memory, not the card's"),
    ("Isaac Sim runs out of memory.", "why_text", {"text": "TEXT 810"}, r"cameras"),
    ("Should I set expandable_segments for vLLM on two cards?", "why_text", {"text": "TEXT 819"}, r"is no advice here"),
    ("XPU out of memory", "why_text", {"text": "TEXT 830"}, r"torch\.xpu\.empty_cache"),
    ("Which lines hold most?", "who", {"recording": "gpt-fp32.zst", "at": "peak"}, r"129\.39 MiB in 188 live requests"),
    ("What was held when it was refused?", "who", {"recording": "oom-fragmented.zst", "at": "refusal"},
     r"fragmented\.py:23"),
    ("Is it weights or activations?", "who", {"recording": "gpt-fp32.zst", "by": "category"},
     r"55\.51 MiB 42\.9% 58 activations"),
    ("Which sizes are live?", "who", {"recording": "cnn.zst", "by": "size"}, r"78\.2% 1 32 MiB"),
    ("How small a card does it need?", "fit", {"recording": "gpt-varlen-default.zst"}, r"runs on a card of 234 MiB"),
    ("Does it fit 16 GB?", "fit", {"recording": "gpt-varlen-default.zst", "device": "16GiB"},
     r"leaves 14\.\d+ GiB beside the CUDA context"),
    ("Which of these needs least?", "fit", {"recording": "cnn.zst", "policy": ["best-fit", "pow2"]},
     r"best-fit .*best"),
    ("Which settings should I use?", "tune", {"recording": "oom-fragmented.zst"}, r"CONF=expandable_segments:True"),
    ("I have PyTorch 2.0, what then?", "tune", {"recording": "gpt-varlen-default.zst", "torch": "2.0"},
     r"Settings of PyTorch 2\.0"),
    ("Is there anything better?", "tune", {"recording": "gpt-varlen-default.zst"}, r"Leave it as it is"),
    ("Does SGD need less than Adam?", "diff", {"a": "mlp-adam.zst", "b": "mlp-sgd.zst"},
     r"6\.03 MiB \(10\.7%\) less"),
    ("What would pow2 change?", "diff", {"a": "cnn.zst", "policy": ["best-fit", "pow2"]},
     r"B takes the same of the card as A"),
    ("Why is more reserved than allocated?", "blame", {"recording": "gpt-varlen-default.zst"},
     r"The 49\.53 MiB in between are held by these rules"),
    ("Make the smallest case for a bug report.", "shrink", {"recording": "oom-fragmented.zst", "keep": "refused"},
     r"4 of 2,007 calls end in a refused request"),
    ("What separates best-fit and pow2?", "adversary", {"allocator": "best-fit", "other": "pow2", "calls": 2},
     r"reserves 12 MiB under best-fit and 36 MiB under pow2"),
    ("What changed from 2.7 to 2.8?", "adversary",
     {"allocator": "pytorch:version=2.7", "other": "pytorch:version=2.8", "calls": 2},
     r"Nothing was found that separates .* no proof"),
    ("Can I believe the replay?", "verify", {"recording": "gpt-varlen-expand.zst"},
     r"all equal .* placements 1,845 of 1,845 equal"),
    ("Was the allocator PyTorch's own?", "verify", {"recording": "gpt-fp32.zst"}, r"all equal PyTorch 2\.15, best-fit"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Of each question what its tool said; one client asks them all."""
    folder = tmp_path_factory.mktemp("asked")
    for path in (ROOT / "samples").glob("*.trace.zst"):
        shutil.copy(path, folder / path.name.replace(".trace.zst", ".zst"))

    def arguments_of(given):
        name = given.get("text", "").removeprefix("TEXT ")
        return {"text": next((ROOT / "tests/texts").glob(f"{name}-*")).read_text()} if name else given

    async def asked():
        words = ["-m", "vramreplay.mcp", "--folder", str(folder)]
        async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=words)) as client:
            return [await client.call_tool(tool, arguments_of(given)) for _, tool, given, _ in QUESTIONS]
    return dict(zip([question for question, *_ in QUESTIONS], asyncio.run(asked())))


def test_there_are_forty_and_every_tool_that_reads_is_asked():
    assert len({question for question, *_ in QUESTIONS}) == 40
    assert {tool for _, tool, *_ in QUESTIONS} == {"files", "info", "why", "why_text", "who", "fit", "tune", "diff",
                                                   "blame", "shrink", "adversary", "verify"}


@pytest.mark.parametrize("question, tool, given, fact", QUESTIONS)
def test_the_fact_comes_back(answers, question, tool, given, fact):
    answer = answers[question]
    said = " ".join(answer.content[0].text.split())
    assert not answer.is_error and re.search(fact, said), said
