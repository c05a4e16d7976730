#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Write the JSON Schemas, the dataclasses and the tables of report/SCHEMA.md of what the program answers.

    generate_results.py REPLAY [--write]

An answer is what `REPLAY --schema NAME` says of its table (answers/). Without --write the files in the tree are
compared with what is generated: exit status 1 if they differ.
"""
import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/vramreplay"
SCHEMA_MD = ROOT / "report/SCHEMA.md"

# The answers that have a class, in the order of results.py.
COMMANDS = ["info", "replay", "why", "who", "fit", "tune", "blame", "shrink", "adversary", "verify", "diff", "predict",
            "serve", "bisect"]
CLASS_NAMES = {"FitFit": "FitPolicy", "DiffSizeClasse": "DiffSizeClass"}
# "... as in `replay-fit/1`": what the key means stands elsewhere.
ELSEWHERE = re.compile(r"\bas in (?:`[\w\[\]]+` of )?(?:a replay\b|`replay-(\w+)/1`)")


# ---- what the program says ----

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


# ---- from a schema to dataclasses ----

PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def class_name(parent, key, is_item):
    word = re.sub(r"ies$", "y", key) if is_item else key
    word = word[:-1] if is_item and word.endswith("s") else word
    name = parent + "".join(part.capitalize() for part in word.split("_"))
    return CLASS_NAMES.get(name, name)


def literal_text(name, values):
    """A type of Python that has these words alone."""
    return textwrap.fill(f"{name} = Literal[{', '.join(map(json.dumps, values))}]", 120, break_on_hyphens=False,
                         subsequent_indent=" " * len(f"{name} = Literal["), break_long_words=False)


class Module:
    """The text of results.py, class after class: parts first."""

    def __init__(self):
        self.classes = {}
        self.words = {}                 # of a member that is one of some words: {words: the name of their type}

    def literal(self, values, parent, key):
        """The name of the type of these words, which all members with the same ones share."""
        values = tuple(value for value in values if value is not None)
        return self.words.setdefault(values, parent + camel(key))

    def annotation(self, schema, parent, key, is_item=False):
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        words = []
        for name in types:
            if name == "string" and "enum" in schema:
                words.append(self.literal(schema["enum"], parent, key))
            elif name in PYTHON:
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
        words = "\n".join(literal_text(name, values) for values, name in self.words.items())
        return "\n\n\n".join([f"{HEAD}\n\n{words}", *self.classes.values()]) + "\n"


HEAD = '''# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program answers, one class for each object of its JSON. Made by generate_results.py; do not edit.

Sizes are bytes and times nanoseconds. None stands for a fact that is not known. report/SCHEMA.md has the words in full.
"""
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from vramreplay.result import Result'''


WORDS_HEAD = '''# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What options take, of those that take some words alone. Made by generate_results.py; do not edit."""
from typing import Literal
'''


def option_words(replay):
    """The text of words.py: a type for each option of which the completion for fish offers the values."""
    fish = subprocess.run([replay, "--completion", "fish"], capture_output=True, text=True, check=True).stdout
    offered = dict(re.findall(r"-l ([a-z-]+) -r -d '.*' -f -a '([^']+)'$", fish, re.M))
    return "\n".join([WORDS_HEAD, *(literal_text(camel(option.replace("-", "_")), words.split())
                                    for option, words in sorted(offered.items()))]) + "\n"


def generated(replay):
    """{path: text}"""
    module, files, tables = Module(), {}, tabled(replay)
    schemas = {name: plain(schema) for name, schema in tables.items() if "schema" in schema["properties"]}
    for schema in schemas.values():
        files[PACKAGE / f"schemas/{schema['title'].replace('/', '-')}.json"] = json.dumps(schema, indent=1) + "\n"
    for command in COMMANDS:
        module.add({**schemas[command], "description": f"The answer of {command}"}, command.capitalize())
    files[PACKAGE / "results.py"] = module.text()
    files[PACKAGE / "words.py"] = option_words(replay)
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
