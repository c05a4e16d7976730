# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The Python in doc/python.md runs as it stands, one block after the other, and the pages name what there is."""
import os
import pathlib
import re
import subprocess
import sys

import vramreplay
from vramreplay import mcp

FAKES = pathlib.Path(__file__).parent / "fakes"


def test_every_block_of_python_runs(root, tmp_path, sample):
    blocks = re.findall(r"^```python\n(.*?)^```", (root / "doc/python.md").read_text(), re.M | re.S)
    (tmp_path / "snapshot.pickle").write_bytes(pathlib.Path(sample("oom-fragmented")).read_bytes())
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(FAKES)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Fragmented: ") and "export PYTORCH_CUDA_ALLOC_CONF=expandable" in done.stdout
    assert "no-such-file None No such file or directory" in done.stdout
    assert (tmp_path / "memory.html").stat().st_size > 1000 and len(blocks) >= 7


def test_the_pages_name_every_tool_and_function(root):
    page = (root / "doc/python.md").read_text()
    assert all(f"`{name}`" in page for name in mcp.TOOLS)
    assert all(name in page for name in vramreplay.__all__ if name[0].islower())
    skill = (root / "python/skill/SKILL.md").read_text()
    commands = {tool.command or name for name, tool in mcp.TOOLS.items() if name != "files"}
    assert all(f"replay {name} " in skill for name in commands)
    assert re.match(r"---\nname: [a-z-]+\ndescription: [^\n]{40,1024}\n---\n", skill)


def test_no_source_opens_a_connection(root):
    """No telemetry: nothing in the package imports what it would take."""
    for path in (root / "python/vramreplay").glob("*.py"):
        found = re.search(r"^\s*(?:import|from) (socket|ssl|http|urllib|requests|ftplib|smtplib)\b", path.read_text(),
                          re.M)
        assert not found, f"{path}: {found}"
