# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What an assistant may ask: the tools of mcp.py, what they take, and what is refused.

A model gives a number where a text is wanted, or one text where a list is; both are taken. What names a plugin, a plan
or a real card is refused.
"""
from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

ROWS_MAX = 50                               # of `who`: a stack trace a row may be megabytes
#: Commands of the program that its answers may advise.
COMMANDS = ("adversary", "bisect", "blame", "conf", "export", "fit", "graphs", "info", "live", "plan", "predict",
            "ranks", "record", "report", "run-sim", "serve", "shrink", "sweep", "technique", "trace", "tune", "verify",
            "who", "why")
POLICIES = ("policy", "keep", "allocator", "other")         # arguments that name policies
FILES_MAX = 100                             # of `files`, newest first
RECORDING = {"type": "string",
             "description": "a file that `files` lists: a snapshot, a trace; for why a log, too"}
DEVICE = {"type": "string", "description": "a simulated card: 4090, h100-80g, 24GiB,context=450MiB"}
POLICY = {"type": ["array", "string"], "items": {"type": "string"},
          "description": "allocators with settings: best-fit (PyTorch's default), expandable_segments:True, "
                         "max_split_size_mb:128, pow2, none"}
ONE_POLICY = {"type": "string", "description": "the allocator with its settings; without it the recorded one"}
ALLOCATOR = {"type": "string", "description": "best-fit, expandable_segments:True, pytorch:version=2.0, tlsf"}
GPU = {"type": "integer", "minimum": 0, "description": "of a file that recorded several devices"}
PROGRAM = {"type": ["array", "string"], "items": {"type": "string"}, "minItems": 1,
           "description": "the words of a command, such as python, train.py, --batch, {batch}; it runs in the server's "
                          "folder"}
TEXT = {"type": "string", "description": "the error as it was printed, with the lines around it; the whole log is best"}


class Refused(Exception):
    """A call that is not carried out. The assistant reads the sentence."""


@dataclass(frozen=True)
class Tool:
    """One question."""

    name: str
    title: str
    description: str
    options: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    inputs: Tuple[str, ...] = ("recording",)
    optional_inputs: Tuple[str, ...] = ()
    runs_program: bool = False              # its one input is the words of a command, not a file
    command: str = ""                       # of the program, if it is not called as the tool is
    words: Tuple[str, ...] = ()             # that each call has

    def input_schema(self) -> Dict[str, Any]:
        special = {"program": PROGRAM, "text": TEXT, "allocator": ALLOCATOR, "other": ALLOCATOR}
        inputs = {name: special.get(name, RECORDING) for name in self.inputs + self.optional_inputs}
        gpu = {"gpu": GPU} if self.takes_files() else {}
        return {"type": "object", "properties": {**inputs, **self.options, **gpu}, "required": list(self.inputs),
                "additionalProperties": False}

    def takes_files(self) -> bool:
        return bool(self.inputs) and not {"program", "text", "allocator"} & set(self.inputs)

    def whole_schema(self) -> Any:
        """The answer's, as the package has it."""
        name = f"replay-{self.command or self.name}-1.json"
        return json.loads(Path(__file__).with_name("schemas").joinpath(name).read_text())

    def output_schema(self) -> Dict[str, Any]:
        """The members of the answer, and the types of those that are never null: a client gives this to the model with
        every question. One that answers as another tool does leaves them to that one."""
        whole = FILES_SCHEMA if self.name == "files" else {"properties": {}} if self.command else self.whole_schema()
        members = {name: {} if isinstance(member.get("type"), list)
                   else {key: member[key] for key in ("type", "const") if key in member}
                   for name, member in whole["properties"].items()}
        return {"type": "object", "properties": {**members, "said": {"type": "string"}},
                "required": ["said"]}

    def declaration(self) -> Dict[str, Any]:
        return {"name": self.name, "title": self.title, "description": self.description,
                "inputSchema": self.input_schema(), "outputSchema": self.output_schema(),
                "annotations": {"readOnlyHint": not self.runs_program, "openWorldHint": self.runs_program}}


FILES_SCHEMA: Dict[str, Any] = {"properties": {"files": {"type": "array"}, "left_out": {"type": "integer"}},
                "required": ["files", "left_out"]}

TOOLS = {tool.name: tool for tool in (
    Tool("files", "Which files there are", f"The recordings and logs in the folder and below it, newest first, "
         f"{FILES_MAX} at most. Call this if no file was named.",
         {"like": {"type": "string", "description": "only names that hold this text"}}, inputs=()),
    Tool("info", "What a recording holds", "Program, settings, peak, refused requests, and what could not be known. "
         "Call this first on a file that you do not know."),
    Tool("why", "Why it ran out of memory", "One verdict on an out-of-memory error: fragmented, full, leak, a setting "
         "not in force, another process; the setting that cures it; the lines that hold the memory.",
         {"device": DEVICE}),
    Tool("why_text", "Why, from the error's text", "The same of an error that somebody pasted: no file is needed. "
         "The text tells less than a recording does.", {"device": DEVICE}, inputs=("text",), command="why"),
    Tool("who", "Who holds the memory", f"Live memory at a moment by line, or by another key; the {ROWS_MAX} largest "
         "groups.",
         {"at": {"type": ["string", "integer"],
                 "description": "peak, refusal, end, or the number of an event. `why` names records, which are counted "
                                "otherwise: for its refused request say refusal"},
          "by": {"type": "string", "description": "line, file, module, category, stack, size, stream or pool"},
          "grew": {"type": "string",
                   "description": "A..B: only what was requested since event A and is live at event B"}}),
    Tool("fit", "The smallest card", "The smallest card on which no request is refused, per policy.",
         {"policy": POLICY, "device": DEVICE}),
    Tool("tune", "The best setting", "The best setting of PyTorch's allocator, tried on the recording.",
         {"device": DEVICE, "torch": {"type": "string", "description": "the PyTorch release, such as 2.9"}}),
    Tool("diff", "What differs", "Two recordings, or two policies on one.",
         {"policy": POLICY, "device": DEVICE}, inputs=("a",), optional_inputs=("b",), words=("--no-replay",)),
    Tool("blame", "Which rule holds the memory", "Which rule of PyTorch's allocator holds each byte that was reserved "
         "and not asked for, and what helps.",
         {"policy": ONE_POLICY, "device": DEVICE}),
    Tool("shrink", "The smallest recording that does it", "The fewest requests and frees that still are refused, "
         "reserve so much, or differ under another allocator: for a bug report.",
         {"keep": {"type": "string", "description": "refused, peak>=20GiB, or differs:POLICY"}, "policy": ONE_POLICY,
          "device": DEVICE}),
    Tool("adversary", "What separates two allocators", "The fewest requests and frees with which two allocators, "
         "settings or PyTorch releases reserve differently; of one, a program that needs a far larger card.",
         {"calls": {"type": "integer", "description": "of two: the largest difference in at most so many calls"},
          "device": DEVICE, "seed": {"type": "integer", "description": "of the random search (0)"}},
         inputs=("allocator",), optional_inputs=("other",)),
    Tool("verify", "Is the replay exact?", "Whether the replayed allocator makes every decision that was recorded.",
         {"device": DEVICE}),
    Tool("predict", "Which card a program needs", "Runs a program on a simulated card, without a GPU: what it "
         "reserves, whether it fits, the smallest card, the largest batch.",
         {"device": DEVICE, "range": {"type": "string", "description": "NAME=A..B: the largest value that fits is "
                                      "found; {NAME} among the program's words stands for it"},
          "steps": {"type": "integer", "description": "stop after so many equal steps (5)"},
          "within": {"type": "integer", "description": "seconds that a run may take (600)"}},
         inputs=("program",), runs_program=True),
    Tool("serve", "What a server holds", "Starts a vLLM or SGLang server on a simulated card: what "
         "is left for its KV cache, how many tokens and requests at once, the share of the card needed.",
         {"device": DEVICE,
          "within": {"type": "integer", "description": "seconds that a start may take (600)"}},
         inputs=("program",), runs_program=True),
    Tool("bisect", "Which commit raised the peak", "Runs a program at some commits of the folder's git repository on "
         "a simulated card, in a worktree: which one raised its peak.",
         {"good": {"type": "string", "description": "needed: a commit with a low peak"},
          "bad": {"type": "string", "description": "one with a high one (HEAD)"}},
         inputs=("program",), runs_program=True),
)}


def taken(tool: Tool, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments as the tool wants them. Refused if one is unknown, of another type, missing, or reaches out."""
    schema = tool.input_schema()
    values = {}
    for name, value in arguments.items():
        if name not in schema["properties"]:
            raise Refused(f"{tool.name} takes {', '.join(schema['properties']) or 'nothing'}, not {name!r}")
        if value is not None:               # some models name what they leave out
            values[name] = converted(name, value, schema["properties"][name])
            refuse_what_reaches_out(name, values[name])
    missing = [name for name in tool.inputs if name not in values]
    if missing:
        raise Refused(f"{tool.name} needs {missing[0]!r}")
    return values


def converted(name: str, value: Any, schema: Dict[str, Any]) -> Any:
    """The value as its schema's type. Refused if it cannot be read as one."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "array" in kinds:
        return listed(name, value)
    if kinds == ["integer"]:
        if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,15}\s*", value):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(f"{name} is a whole number, such as 0")
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "recording":
        return str(value)
    if not isinstance(value, str):
        raise Refused(f"{name} is a text: {schema.get('description', 'a file')}")
    return value


def listed(name: str, value: Any) -> List[str]:
    """A list of texts; of one text the words of a command, or the one policy that it names."""
    if isinstance(value, str):
        try:
            value = shlex.split(value) if name == "program" else [value]
        except ValueError as error:
            raise Refused(f"program: {error}") from None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise Refused(f"{name} is a list of texts")
    if name == "program" and not value:
        raise Refused("program names no command")
    return value


def refuse_what_reaches_out(name: str, value: Any) -> None:
    for text in value if isinstance(value, list) else [value]:
        if name in POLICIES and re.search(r"/|\.so\b", text):
            raise Refused(f"{text}: a plugin is not loaded here")
        if name in POLICIES and re.search(r"\b(plan|file)\b", text):
            raise Refused(f"{text}: a plan is not read here")
        if name == "device" and re.match(r"\s*cuda", text, re.I):
            raise Refused(f"{text}: a real card is not used here")


def what_is_no_tool(text: str, tools: Set[str]) -> str:
    """A sentence on the commands that the answer advises: the program's words are for a person with a shell."""
    named = sorted(set(re.findall(rf"\breplay\s+({'|'.join(COMMANDS)})\b", text)) - tools)
    calls = " and ".join(f"`replay {name}`" for name in named)
    return f"\nFor the person to type in a shell, not a tool here: {calls}.\n" if calls else ""
