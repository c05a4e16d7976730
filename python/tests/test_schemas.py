# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The JSON Schemas and dataclasses of the package are those of its program, and every sample's answer is valid."""
import json
import subprocess
import sys

import jsonschema
import pytest
import vramreplay
from vramreplay import files, running

FOLDER = files.FOLDER.parent / "schemas"
SAMPLES = ["cnn", "gpt-varlen-default", "gpt-varlen-maxsplit", "gpt-eval-emptycache", "mlp-ckpt", "oom-fragmented",
           "oom-halves-batch", "oom-long-run", "oom-too-large"]


def closed(schema):
    """The schema with no other member allowed: a key that is not in it has been forgotten."""
    if isinstance(schema, dict):
        schema = {key: closed(part) for key, part in schema.items()}
        if "properties" in schema:
            schema["additionalProperties"] = False
    return schema


def test_what_is_in_the_tree_is_generated_from_this_program(root):
    done = subprocess.run([sys.executable, root / "python/generate_results.py", files.program()], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["info", "replay", "why", "who", "fit", "tune", "verify", "diff"])
def test_answers_about_all_samples_are_valid(command, sample):
    options = {"policy": ["best-fit", "none"]} if command == "diff" else {}
    seen = 0
    for name in SAMPLES:
        answer = running.ask(command, [sample(name)], options).data
        schema = json.loads((FOLDER / f"{answer['schema'].replace('/', '-')}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(answer, closed(schema))
        seen += 1
    assert seen == len(SAMPLES)


def test_the_answers_about_a_program_are_valid(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = json.loads((FOLDER / "replay-predict-1.json").read_text())
    for options in ({}, {"device": ["1GiB", "8MiB"]}):
        jsonschema.validate(running.ask_program("predict", program(300), options).data, closed(schema))


def test_a_wrong_answer_is_not_valid(sample):
    answer = vramreplay.why(sample("cnn")).to_dict()
    schema = json.loads((FOLDER / "replay-why-1.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "event": "7"}, schema)
