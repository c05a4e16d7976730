#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Write the JSON Schemas, the dataclasses and the tables of report/SCHEMA.md of what the program answers.

    generate_results.py REPLAY [--write]

An answer with a table (answers/) is what `REPLAY --schema NAME` says. Of the others the program answers the questions
of QUESTIONS: the shape of an answer is what is seen; report/SCHEMA.md says what a key means, and which may be null
although no answer here is. Without --write the files in the tree are compared with what is generated: exit status 1 if
they differ.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/vramreplay"
SCHEMA_MD = ROOT / "report/SCHEMA.md"

SAMPLES = [f"samples/{name}.trace.zst" for name in (
    "cnn", "gpt-varlen-default", "gpt-varlen-expand", "530-270", "oom-fragmented", "oom-halves-batch", "oom-long-run",
    "oom-too-large", "oom-leak")]
STATES = ["tests/data/mid-run/expandable@2.9.1.pickle"]
TWO = ["--policy", "best-fit", "--policy", "none"]
EACH = [[path] for path in SAMPLES + STATES]
QUESTIONS = {
    "replay": [[*one, *TWO, "--explain", "end"] for one in EACH] + [
        ["samples/cnn.trace.zst", "--device", "40MiB", "--policy", "gc=0.8"]],
}
# The answers that have a class, in the order of results.py.
COMMANDS = ["info", "replay", "why", "who", "fit", "tune", "blame", "shrink", "verify", "diff", "predict", "serve"]
MAPS = {("replay", "runs[].options")}         # its keys depend on the policy
CLASS_NAMES = {"FitFit": "FitPolicy", "DiffSizeClasse": "DiffSizeClass"}
# Objects that stand in several places and have the same members, by their class. The first place is the documented one.
SHARED = {
    "Explanation": [("replay", "runs[].explanation.first_oom"), ("replay", "runs[].explanation.event")],
    "Gauges": [("replay", "runs[].peak"), ("replay", "runs[].at_peak"), ("replay", "runs[].end")],
}
CLASS_AT = {place: name for name, places in SHARED.items() for place in places}


# ---- what the program answers ----

def ask(replay, command, words, folder):
    name = [] if command == "replay" else [command]
    done = subprocess.run([replay, *name, "--json", "-", *words], cwd=folder, capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(f"generate_results: replay {command} {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def answers(replay):
    """{command: its answers}"""
    replay = str(pathlib.Path(replay).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for link in ("samples", "tests"):
            (folder / link).symlink_to(ROOT / link)
        for policy, file in (("best-fit", "one.json"), ("none", "two.json")):
            subprocess.run([replay, SAMPLES[0], "--policy", policy, "--json", file], cwd=folder, check=True,
                           capture_output=True)
        return {command: [ask(replay, command, words, folder) for words in lists]
                for command, lists in QUESTIONS.items()}


# ---- answers with a table ----

def tabled(replay):
    """{name: its JSON Schema} of all answers and parts of answers that have a table."""
    def say(*words):
        return subprocess.run([replay, "--schema", *words], capture_output=True, text=True, check=True).stdout
    return {name: json.loads(say(name)) for name in say().split()}


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def plain(schema):
    """The schema without Markdown, and with the classes' names as titles of the objects that have a table."""
    out = {key: plain(part) if isinstance(part, dict) else part for key, part in schema.items()}
    if isinstance(out.get("type"), list):
        out["type"] = sorted(out["type"])
    if isinstance(out.get("description"), str):
        out["description"] = re.sub(r"[`\\]", "", out["description"])
    if isinstance(out.get("title"), str) and "/" not in out["title"]:
        out["title"] = camel(out["title"])
    return out


WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "true, false", "object": "object",
         "array": "array", "null": "null"}


def table_rows(schema, prefix=""):
    """Rows of Markdown: what each member is. The members of a part stand in a table of their own."""
    for key, part in schema["properties"].items():
        types = [part["type"]] if isinstance(part["type"], str) else part["type"]
        items = part.get("items", {})
        whole = part if "properties" in part else items
        words = ", ".join(sorted((WORDS[t] for t in types), key=lambda word: word == "null"))
        words += f" of {WORDS[items['type']]}" if items.get("type", "object") != "object" else ""
        named = f" ([{whole['title']}](#{whole['title']}))" if "title" in whole else ""
        meaning = part.get("description", f"`{part.get('const')}`").replace("|", "\\|")
        yield f"| `{prefix}{key}` | {words} | {meaning}{named} |"
        if "properties" in whole and not named:
            yield from table_rows(whole, f"{prefix}{key}{'[]' if whole is items else ''}.")


def with_tables(text, tables):
    """The text of SCHEMA.md, with a table after each line <!-- table: NAME -->."""
    def table(match):
        rows = table_rows(tables[match[1]])
        return "\n".join([f"<!-- table: {match[1]} -->", "| key | type | meaning |", "|---|---|---|", *rows, ""])
    return re.sub(r"<!-- table: (\w+) -->\n(?:\|[^\n]*\n)*", table, text)


# ---- what SCHEMA.md says ----

TYPES = {"text": "string", "number": "integer", "true": "boolean", "object": "object", "array": "array", "null": "null"}


def documented():
    """{(command, path): (types, meaning)} of the tables in report/SCHEMA.md."""
    known, command = {}, None
    for line in SCHEMA_MD.read_text().splitlines():
        if line.startswith("## "):
            schema = re.search(r"schema `replay-?(\w*)/1`", line)
            command = (schema[1] or "replay") if schema else None
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        if command is None or len(cells) < 2 or not cells[0].startswith("`"):
            continue
        keys = re.findall(r"`([^`]+)`", cells[0])
        for key, types in zip(keys, types_of_keys(cells[1] if len(cells) == 3 else "", len(keys))):
            known[command, key] = (types, cells[-1])
    return known


def types_of_keys(cell, n):
    """The types of the n keys of a row: "text; text, null" has one for each, "number, null" one for all. Of a row with
    several types for several keys only null is known."""
    lists = [[TYPES[word] for word in re.findall(r"\w+", part) if word in TYPES] for part in cell.split(";")]
    if len(lists) == n:
        return lists
    types = lists[0]
    return [types if len(set(types) - {"null"}) <= 1 else [t for t in types if t == "null"]] * n


ELSEWHERE = re.compile(r"\bas in (?:`[\w\[\]]+` of )?(?:a replay\b|`replay-(\w+)/1`)")


def last_key(path):
    return path.split(".")[-1]


def meanings_of(known, command, key):
    """What the tables say of a key in a command's answer (None: in any), at whatever place; references left out."""
    return {text for (one, path), (_, text) in known.items()
            if last_key(path) == key and (one == command or (command is None and one in QUESTIONS))
            and not ELSEWHERE.search(text)}


def meaning_of(known, command, path):
    """What a member means; None if the tables do not say. "As in ..." is looked up there. A size or a number of
    requests that has no row of its own means what the only row of its name says."""
    text = (known.get((command, path)) or known.get((command, last_key(path))) or (None, None))[1]
    reference = ELSEWHERE.search(text) if text else None
    if text and not reference:
        return text
    if not reference and not re.search(r"_(bytes|requests|events|ns)$", path):
        return None
    found = meanings_of(known, (reference[1] or "replay") if reference else None, last_key(path))
    return found.pop() if len(found) == 1 else text


# ---- from values to a shape, from a shape to a schema ----

def type_of(value):
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def objects_by_class(answers_of):
    """{class of SHARED: every object of it in all answers}"""
    found = {name: [] for name in SHARED}

    def walk(value, command, path):
        if isinstance(value, list):
            for item in value:
                walk(item, command, path + "[]")
        elif isinstance(value, dict):
            if (command, path) in CLASS_AT:
                found[CLASS_AT[command, path]].append(value)
            for key, part in value.items():
                walk(part, command, f"{path}.{key}".lstrip("."))

    for command, values in answers_of.items():
        for value in values:
            walk(value, command, "")
    return found


def part_at(part, values, command, path, known):
    """The schema of a part that has a table, at one place of an answer that has none."""
    said = known.get((command, path), ([],))[0]
    meaning = meaning_of(known, command, path)
    described = {"description": re.sub(r"[`\\]", "", meaning)} if meaning else {}
    return {**part, **described, "type": ["null", "object"] if None in values or "null" in said else "object"}


def schema_of(values, command, path, known, shared):
    """The JSON Schema of all values that were seen at one place."""
    name = CLASS_AT.get((command, path))
    if name in shared["with a table"]:
        return part_at(shared["with a table"][name], values, command, path, known)
    if name:
        values = [value for value in values if value is None] + shared[name]
    types = {type_of(value) for value in values}
    said = (known.get((command, path)) or known.get((command, last_key(path))) or ([],))[0]
    meaning = meaning_of(known, command, path)
    if name:
        command, path = SHARED[name][0]
    types |= set(said) if types <= {"null"} else {"null"} & set(said)
    if "number" in types:
        types.discard("integer")
    out = {"title": name} if name else {}
    if meaning:
        out["description"] = re.sub(r"[`\\]", "", meaning)
    if types:
        out["type"] = sorted(types) if len(types) > 1 else types.pop()
    items = [item for value in values if isinstance(value, list) for item in value]
    if items or (command, path + "[]") in CLASS_AT:
        out["items"] = schema_of(items, command, path + "[]", known, shared)
    objects = [value for value in values if isinstance(value, dict)]
    if not objects and "object" in types:              # never seen: what the tables say
        inner = [one[len(path) + 1:] for whose, one in known if whose == command and one.startswith(path + ".")]
        objects = [dict.fromkeys(key for key in inner if "." not in key)] if inner else []
    if objects and (command, path) in MAPS:
        parts = [part for o in objects for part in o.values()]
        out["additionalProperties"] = schema_of(parts, command, path + ".*", known, shared)
        out["additionalProperties"].setdefault("type", "string")
    elif objects:
        keys = list(dict.fromkeys(key for o in objects for key in o))
        out["properties"] = {key: schema_of([o[key] for o in objects if key in o], command,
                                            f"{path}.{key}".lstrip("."), known, shared) for key in keys}
        out["required"] = [key for key in keys if all(key in o for o in objects)]
    return out


# ---- from a schema to dataclasses ----

PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def class_name(parent, key, is_item):
    word = re.sub(r"ies$", "y", key) if is_item else key
    word = word[:-1] if is_item and word.endswith("s") else word
    name = parent + "".join(part.capitalize() for part in word.split("_"))
    return CLASS_NAMES.get(name, name)


class Module:
    """The text of results.py, class after class: parts first."""

    def __init__(self):
        self.classes = {}

    def annotation(self, schema, parent, key, is_item=False):
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        words = []
        for name in types:
            if name in PYTHON:
                words.append(PYTHON[name])
            elif name == "array":
                items = {"description": schema.get("description"), **schema.get("items", {})}
                words.append(f"List[{self.annotation(items, parent, key, True)}]")
            elif name == "object" and "properties" in schema:
                place = f"{'An item of `' if is_item else '`'}{key}` of {parent}"
                words.append(self.add(schema, schema.get("title") or class_name(parent, key, is_item), place))
            elif name == "object":
                inner = self.annotation(schema.get("additionalProperties", {}), parent, key)
                words.append(f"Dict[str, {inner}]")
        plain = words[0] if len(words) == 1 else f"Union[{', '.join(words)}]" if words else "Any"
        return f"Optional[{plain}]" if "null" in types and plain != "Any" else plain

    def add(self, schema, name, place=""):
        lines = [f"class {name}(Result):", f'    """{self.title(schema, place)}"""']
        required = set(schema["required"])
        for key in sorted(schema["properties"], key=lambda k: k not in required):
            part = schema["properties"][key]
            kind = self.annotation(part, name, key)
            if key not in required and not kind.startswith(("Optional", "Any")):
                kind = f"Optional[{kind}]"
            if part.get("description"):
                lines += textwrap.wrap(part["description"], 112, initial_indent="    #: ", subsequent_indent="    #: ",
                                       break_on_hyphens=False)
            lines.append(f"    {key}: {kind}" + ("" if key in required else " = None"))
        self.classes[name] = "\n".join(["@dataclass(frozen=True, repr=False)", *lines])
        return name

    @staticmethod
    def title(schema, place):
        """Where the object stands, and what it means, unless the tables only list its members or refer elsewhere."""
        meaning = re.split(r"[.;:] |[.;:]$", schema.get("description") or "")[0]
        is_list = "_" in re.split(r"\W", meaning)[0] or re.split(r"\W", meaning)[0] in schema["properties"]
        if not meaning or is_list or ELSEWHERE.search(schema["description"]):
            return f"{place}."
        return textwrap.shorten(f"{place}: {meaning}." if place else f"{meaning}.", 108, placeholder=" ...")

    def text(self):
        return "\n\n\n".join([HEAD, *self.classes.values()]) + "\n"


HEAD = '''# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program answers, one class for each object of its JSON. Made by generate_results.py; do not edit.

Sizes are bytes and times nanoseconds. None stands for a fact that is not known. report/SCHEMA.md has the words in full.
"""
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

from vramreplay.result import Result'''


def generated(replay):
    """{path: text}"""
    known, module, files = documented(), Module(), {}
    tables, said = tabled(replay), answers(replay)
    shared = {"with a table": {camel(name): plain(schema) for name, schema in tables.items()}, **objects_by_class(said)}
    for part in shared["with a table"].values():
        del part["$schema"]
    schemas = {name: plain(schema) for name, schema in tables.items() if "schema" in schema["properties"]}
    for command, values in said.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                  "title": values[0]["schema"], **schema_of(values, command, "", known, shared)}
        schema["properties"]["schema"]["const"] = values[0]["schema"]
        schemas[command] = schema
    for schema in schemas.values():
        files[PACKAGE / f"schemas/{schema['title'].replace('/', '-')}.json"] = json.dumps(schema, indent=1) + "\n"
    for command in COMMANDS:
        module.add({**schemas[command], "description": f"The answer of {command}"}, command.capitalize())
    files[PACKAGE / "results.py"] = module.text()
    files[SCHEMA_MD] = with_tables(SCHEMA_MD.read_text(), tables)
    return files


def main():
    is_writing = sys.argv[2:] == ["--write"]
    differing = []
    for path, text in generated(str(pathlib.Path(sys.argv[1]).resolve())).items():
        if path.exists() and path.read_text() == text:
            continue
        differing.append(path.relative_to(ROOT))
        if is_writing:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    for name in differing:
        print(f"{name}: {'written' if is_writing else 'is not what the program answers now'}")
    if differing and not is_writing:
        raise SystemExit("run python/generate_results.py build/replay --write, then read the difference")


if __name__ == "__main__":
    main()
