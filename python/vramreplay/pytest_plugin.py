# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Tests that guard memory, without a GPU.

    @pytest.mark.peak_memory("1.2 GiB", device="sim:24GiB")
    def test_a_training_step(): ...

The test runs in a process of its own on a simulated card, under `replay run-sim`, and fails if the card held more than
that. Its peak is the most memory that the process had of the card: for PyTorch, what its allocator reserved. Nothing is
left to chance, so the same code gives the same bytes. Without a size the peak may not exceed that of the baseline.
`--update-peaks` writes the baseline: peaks.json, and a recording of each test for the `diff` of a later failure. With
pytest-xdist the workers send their peaks with the tests' reports, and the process that started them writes the files.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest

RESULT = "VRAMREPLAY_TEST_RESULT"           # in the process on the card: the file that gets the test's reports
PEAK = "peak_memory"                        # the property of a test's report that carries its Peak, as JSON
DEVICE = "sim:24GiB"
UNITS = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
MARKER = ("peak_memory(limit=None, *, device='sim:24GiB'): run the test on this simulated card; fail if it takes more "
          "than limit, or without one more than in the baseline")
HOLDERS = 5


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("peak memory")
    group.addoption("--update-peaks", action="store_true", help="write the baseline of tests marked peak_memory")
    group.addoption("--peaks-md", metavar="FILE", help="write the peaks of tests marked peak_memory as Markdown")
    parser.addini("peaks_file", "baseline of tests marked peak_memory, below the root folder", default="peaks.json")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", MARKER)
    if RESULT not in os.environ:
        config.pluginmanager.register(Guard(config), "vramreplay-guard")


def pytest_runtest_logreport(report: Any) -> None:
    """On the card: tell the other process how each phase of the test went."""
    if RESULT in os.environ:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        with open(os.environ[RESULT], "a", encoding="utf-8") as out:
            out.write(json.dumps({"outcome": report.outcome, "text": reason}) + "\n")


def parse_size(text: Union[int, str]) -> int:
    """Bytes of 1200, "1200" or "1.2 GiB". WrongMark for anything else: units of a thousand would be misread."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]iB|B)?\s*", str(text), re.I)
    if not found:
        raise WrongMark(f"{text!r} is no size; write it as '1.2 GiB'")
    return int(float(found[1]) * UNITS[(found[2] or "B").lower()])


def size_text(n: int) -> str:
    """In GiB, MiB or KiB, and exactly."""
    unit = next((u for u in ("gib", "mib", "kib") if n >= UNITS[u]), "b")
    return f"{n:,} B" if unit == "b" else f"{n / UNITS[unit]:.2f} {unit[0].upper()}iB ({n:,} B)"


def longest_ticks(text: str, least: int = 0) -> int:
    """Of the runs of backticks in a text, the length of the longest."""
    return max([least, *map(len, re.findall("`+", text))])


def in_code(text: str) -> str:
    """Markdown that shows a name as it is, in a table too: names are the tests' own, and may hold anything."""
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "?", text).replace("|", "\\|")
    ticks = "`" * (1 + longest_ticks(clean))
    return f"{ticks} {clean} {ticks}" if "`" in clean else f"`{clean}`"


@dataclass
class Peak:
    """What a test took of the card."""

    name: str
    device: str
    bytes: int
    baseline: Optional[int] = None
    limit: Optional[int] = None
    is_failed: bool = False
    details: List[str] = field(default_factory=list)        # what stands below the first line of a failure


class TooMuchMemory(Exception):
    """The report of a test is its words, without a traceback."""


class WrongMark(Exception):
    """The marker's arguments mean nothing."""


class FailedOnCard(Exception):
    """The test itself failed on the card. Its words are the report from there."""


def read_baseline(file: Path) -> Dict[str, Dict[str, Any]]:
    """Per test its card and peak, as --update-peaks wrote them; empty if there is no file."""
    if not file.exists():
        return {}
    try:
        peaks: Any = json.loads(file.read_text())
    except ValueError as error:
        raise pytest.UsageError(f"{file}: is no JSON: {error}") from None
    for name, peak in peaks.items() if isinstance(peaks, dict) else [("", None)]:
        is_peak = isinstance(peak, dict) and isinstance(peak.get("device"), str) and type(peak.get("peak_bytes")) is int
        if not is_peak:
            raise pytest.UsageError(f"{file}: {name or 'it'} is no peak: {{TEST: {{device, peak_bytes}}}} is expected")
    return dict(peaks)


class Guard:
    """Replaces marked tests by PeakTests, keeps the baseline, and writes the summary."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")     # of pytest-xdist
        self.file = Path(config.rootpath, config.getini("peaks_file"))
        self.recordings = self.file.with_suffix("")
        self.is_updating = config.getoption("--update-peaks")
        self.baseline = read_baseline(self.file)
        self.peaks: List[Peak] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_modifyitems(self, items: List[Any]) -> Any:
        """Last of all: the project's own hooks see its functions."""
        yield
        for i, item in enumerate(items):
            if item.get_closest_marker("peak_memory"):
                items[i] = PeakTest.from_parent(item.parent, name=item.name, original=item, guard=self)

    def recording_of(self, name: str) -> Path:
        """Names that differ in letters no file may have get files that differ."""
        word, digest = re.sub(r"[^\w.-]+", "_", name)[:150], hashlib.sha256(name.encode()).hexdigest()[:8]
        return self.recordings / f"{word}-{digest}.trace.zst"

    def keep(self, peak: Peak, recording: Path) -> None:
        """A new baseline, for this test and for the diff of a later one."""
        self.baseline[peak.name] = {"device": peak.device, "peak_bytes": peak.bytes}
        self.recordings.mkdir(parents=True, exist_ok=True)
        if recording.exists():
            self.recording_of(peak.name).write_bytes(recording.read_bytes())

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Where the reports of all workers arrive: what is interrupted keeps the peaks so far."""
        texts = [text for name, text in report.user_properties if name == PEAK] if report.when == "call" else []
        if self.is_worker or not texts:
            return
        peak = Peak(**json.loads(texts[0]))
        self.peaks.append(peak)
        if self.is_updating:
            self.baseline[peak.name] = {"device": peak.device, "peak_bytes": peak.bytes}
            new = self.file.with_name(self.file.name + ".new")
            new.write_text(json.dumps(dict(sorted(self.baseline.items())), indent=1) + "\n")
            new.replace(self.file)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.peaks.sort(key=lambda peak: peak.name)
        if self.config.getoption("--peaks-md"):
            Path(self.config.getoption("--peaks-md")).write_text(self.markdown())
        if self.is_updating and self.peaks:
            terminalreporter.write_line(f"{len(self.peaks)} peaks written to {self.file}")

    def markdown(self) -> str:
        lines = ["| test | card | peak | before | most allowed |", "|---|---|---|---|---|"]
        for peak in self.peaks:
            cells = [size_text(n) if n is not None else "" for n in (peak.bytes, peak.baseline, peak.limit)]
            mark = " (failed)" if peak.is_failed else ""
            lines.append(f"| {in_code(peak.name)}{mark} | {in_code(peak.device)} | {' | '.join(cells)} |")
        for peak in self.peaks:
            if peak.details:
                fence = "`" * (1 + longest_ticks("\n".join(peak.details), 2))
                lines += ["", f"### {in_code(peak.name)}", "", fence, *peak.details, fence]
        return "\n".join(lines) + "\n"


class PeakTest(pytest.Item):
    """A marked test, in the place of the function that it runs elsewhere."""

    def __init__(self, *, original: Any, guard: Guard, **others: Any) -> None:
        super().__init__(**others)
        self.guard, self.place, self.original = guard, original.reportinfo(), original
        self.own_markers = list(original.own_markers)
        self.keywords.update(original.keywords)

    def __getattr__(self, name: str) -> Any:
        """What hooks of others ask of a function: `fixturenames`, `function`, `cls`, `callspec` and so on."""
        if name.startswith("_") or "original" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.original, name)

    def reportinfo(self) -> Any:
        return self.place

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, (TooMuchMemory, FailedOnCard, WrongMark)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def allowed(self) -> Tuple[Optional[int], str]:
        """The marker's limit in bytes, None without one, and the card."""
        marker = self.get_closest_marker("peak_memory")
        assert marker is not None
        unknown = set(marker.kwargs) - {"device", "limit"}
        if unknown or len(marker.args) > 1:
            raise WrongMark(f"peak_memory takes a limit and device=, not {marker.args} {marker.kwargs}")
        limit = marker.args[0] if marker.args else marker.kwargs.get("limit")
        return (None if limit is None else parse_size(limit)), marker.kwargs.get("device", DEVICE)

    def runtest(self) -> None:
        limit, device = self.allowed()
        with tempfile.TemporaryDirectory() as folder:
            recording = Path(folder, "test.trace.zst")
            peak = Peak(self.nodeid, device, run_on_card(self, device, recording), limit=limit)
            before = self.guard.baseline.get(peak.name)
            if before and before["device"] == device:
                peak.baseline = before["peak_bytes"]
            if self.guard.is_updating:
                self.guard.keep(peak, recording)
            try:
                self.judge(peak, recording)
            finally:
                self.user_properties.append((PEAK, json.dumps(asdict(peak))))

    def most(self, peak: Peak) -> Optional[int]:
        """What the marker or the baseline allows: a baseline that is just being written allows what was taken."""
        if peak.limit is not None:
            return peak.limit
        return peak.bytes if self.guard.is_updating else peak.baseline

    def judge(self, peak: Peak, recording: Path) -> None:
        most = self.most(peak)
        if most is None:
            raise TooMuchMemory(f"{size_text(peak.bytes)} at the peak on {peak.device}, nothing to compare it with: "
                                f"no limit, no baseline of this card in {self.guard.file}. --update-peaks writes one")
        if peak.bytes <= most:
            return
        peak.is_failed = True
        before = self.guard.recording_of(peak.name)
        peak.details = [*holders(recording), *difference(before, recording), *kept(recording)]
        word = "limit" if peak.limit is not None else "baseline"
        first = (f"{size_text(peak.bytes)} at the peak on {peak.device}, {word} {size_text(most)}: "
                 f"{peak.bytes - most:,} B too much")
        raise TooMuchMemory("\n".join([first, *peak.details]))


def run_on_card(item: PeakTest, device: str, recording: Path) -> int:
    """Run the test on the card and record it; most bytes of any card. What the test itself says is raised here."""
    from vramreplay import files

    result, summary = recording.with_name("result"), recording.with_name("summary.json")
    config = item.config
    ini = ["-c", str(config.inipath)] if config.inipath else []
    test = [sys.executable, "-m", "pytest", "-q", "--runxfail", "-p", "no:cacheprovider", "-o", "addopts=", *ini,
            f"--rootdir={config.rootpath}", "./" + item.nodeid]         # a folder may begin with a dash
    words = [*files.command(), "run-sim", "--device", device, "--record", recording, "--json", summary, "--", *test]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_ADDOPTS", "PYTEST_XDIST"))}
    done = subprocess.run([str(word) for word in words], cwd=config.rootpath, env={**env, RESULT: str(result)},
                          capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    reports = [json.loads(line) for line in result.read_text().splitlines()] if result.exists() else []
    failed = [report["text"] for report in reports if report["outcome"] == "failed"]
    if failed:
        raise FailedOnCard("\n".join([f"on the card {device}:", *failed]))
    if any(report["outcome"] == "skipped" for report in reports):
        pytest.skip(next(report["text"] for report in reports if report["outcome"] == "skipped"))
    if done.returncode != 0 or not reports:
        raise FailedOnCard(f"the test could not be run on the card {device}:\n{done.stdout}{done.stderr}")
    peaks = [int(card["peak_bytes"]) for card in json.loads(summary.read_text())["devices"]]
    if not peaks:
        raise FailedOnCard(f"the test asked for no device memory on the card {device}")
    return max(peaks)


def holders(recording: Path) -> List[str]:
    """The lines of the program that hold most at the peak; sizes of requests where no line was recorded."""
    from vramreplay import commands, errors

    try:
        rows = commands.who(recording, at="peak").rows[:HOLDERS]
    except errors.ReplayError as error:
        return [f"Who holds it is not known: {error}"]
    return ["At the peak hold most:", *(f"  {row.share:6.1%}  {size_text(row.bytes)}  {row.name}" for row in rows)]


def kept(recording: Path) -> List[str]:
    """A failed test's recording stays, to be asked or to be uploaded by a job."""
    if not recording.exists():
        return []
    name = shutil.copy(recording, tempfile.mkdtemp(prefix="vramreplay-peak-"))
    return [f"Its recording, for replay who and why: {name}"]


def difference(before: Path, after: Path) -> List[str]:
    """The lines that hold more at the peak than they did in the baseline's recording, and those that hold less."""
    from vramreplay import commands, errors

    if not before.exists():
        return []
    try:
        held = [{row.name: row.bytes for row in commands.who(file, at="peak").rows} for file in (before, after)]
    except errors.ReplayError as error:
        return [f"What has changed is not known: {error}"]
    grown = {name: held[1].get(name, 0) - held[0].get(name, 0) for name in {*held[0], *held[1]}}
    names = sorted((name for name in grown if grown[name]), key=lambda name: (-grown[name], name))
    more = [f"  {'+' if grown[name] > 0 else '-'}{size_text(abs(grown[name]))}  {name}" for name in names]
    shown = more if len(more) <= HOLDERS else [*more[:HOLDERS], f"  and {len(more) - HOLDERS} lines more"]
    return ["Since the baseline:", *shown] if shown else ["Since the baseline each line holds the same at the peak."]
