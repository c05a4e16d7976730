#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The page that runs the program in a browser: the same bytes as the program, nothing loaded, alive while it works.

    web_page.py REPLAY PAGE [--gigabyte]

--gigabyte also drops a snapshot of 1 GB, which takes minutes. Needs Chromium.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDINGS = [ROOT / name for name in (
    "samples/gpt-varlen-default.trace.zst", "samples/oom-fragmented.trace.zst", "samples/cnn.trace.zst",
    "samples/530-270.trace.zst", "tests/data/mid-run/expandable@2.4.1.pickle",
    "tests/data/mid-run/expandable@2.15.0.pickle")]
SETTINGS = [f"--policy={name}" for name in ("best-fit", "expandable_segments:True", "pow2", "none", "cuda-async")]
QUESTIONS = [["replay", *SETTINGS], ["why"], ["who"], ["fit", *SETTINGS[:2]], ["verify"], ["info"],
             ["diff", *SETTINGS[:2]]]
POLICY = re.compile(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"')
BUSY = """new Promise(done => {
    const began = performance.now(), seen = { longest_ms: 0, progress: 0, ended: '' };
    let last = began;
    const clock = setInterval(() => {
        seen.longest_ms = Math.max(seen.longest_ms, performance.now() - last);
        last = performance.now();
        seen.progress += document.getElementById('status').textContent.includes('%');
        if (document.getElementById('stop').hidden) {
            clearInterval(clock);
            seen.ended = document.getElementById('status').textContent;
            seen.seconds = (last - began) / 1000;
            done(seen);
        }
    }, 20);
})"""
failures = 0


def expect(is_true, *what):
    global failures
    if not is_true:
        failures += 1
        print("FAILED:", *what)


def json_words(question, name):
    """The words of a question about a file; `replay` has no name of its own."""
    return [*([] if question[0] == "replay" else question[:1]), name, *question[1:]]


def in_browser(b, path, words):
    """What the page's program answers; its JSON as bytes."""
    data = base64.b64encode(path.read_bytes()).decode()
    b.eval(f"""window.given = new File([Uint8Array.from(atob('{data}'), c => c.charCodeAt(0))],
                                       {json.dumps(path.name)}), 0""")
    answer = b.eval(f"""replayWeb.run({json.dumps(words)}, window.given, () => {{}}).then(
        done => ({{ status: done.status, said: done.said, printed: done.printed,
                    json: done.written && new TextDecoder().decode(done.written) }}))""")
    return answer["status"], answer["json"], answer["printed"], answer["said"]


def compare(b, replay, path, folder):
    """Every question about a file, asked of both programs: how many bytes both answered."""
    shutil.copy(path, folder)
    here = pathlib.Path(folder, path.name)
    n_bytes = 0
    for question in QUESTIONS:
        words = json_words(question, path.name)
        done = subprocess.run([replay, *words, "--json", "answer"], cwd=folder, capture_output=True, text=True)
        status, answer, printed, said = in_browser(b, here, [*words, "--json=/answer"])
        native = pathlib.Path(folder, "answer")
        expected = native.read_text() if native.exists() else None       # none: a refusal, which both must say alike
        expect(status == done.returncode, path.name, question, "status", status, done.returncode)
        expect(answer == expected, path.name, question, "other JSON")
        expect((printed, said) == (done.stdout, done.stderr), path.name, question, "other words", said, done.stderr)
        native.unlink(missing_ok=True)
        n_bytes += len(expected or done.stderr)
    return n_bytes


def drop(b, path):
    """As a person does: the file's field."""
    root = b.call("DOM.getDocument")["root"]["nodeId"]
    field = b.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    b.call("DOM.setFileInputFiles", files=[str(path)], nodeId=field)
    seen = b.eval(BUSY)
    expect(seen["longest_ms"] < 2000, "the page stood still for", seen["longest_ms"], "ms")
    return seen


def check_policy(page):
    """WebAssembly is all that the policy allows beyond that of any report."""
    ours, reports = (POLICY.search(pathlib.Path(path).read_text())[1]
                     for path in (page, ROOT / "report/page/page.html"))
    expect(ours == reports.replace("script-src 'unsafe-inline'", "script-src 'unsafe-inline' 'wasm-unsafe-eval'"), ours)


def check_shown(b, page, path):
    """The page of a report is shown, and nothing was loaded for it."""
    b.open(page)
    drop(b, path)
    expect(b.eval("!document.getElementById('page').hidden"), "no report is shown")
    shown = b.eval("document.getElementById('page').srcdoc")
    expect("expandable_segments:True" in shown and "Fragmented" in shown, "the report lacks a setting or the verdict")
    expect([url for url in b.requests if not url.startswith(("file://" + page, "about:"))] == [], b.requests)
    expect(b.messages == [], b.messages)


# What the address says of the page within, once it says so.
ADDRESS = """new Promise(done => {
    const until = Date.now() + 60000, look = () => {
        const told = new URLSearchParams(location.hash.slice(1));
        return told.has('view') || Date.now() > until ? done([told.get('file'), told.get('question'), told.get('view')])
                                                      : setTimeout(look, 50);
    };
    look();
})"""


def check_address(b, page):
    """The example is a button; the address that it leads to shows the same answer, and what was looked at in it."""
    b.open(page)
    b.eval("document.getElementById('example').click(), 0")
    b.eval(BUSY)
    name, question, view = b.eval(ADDRESS)
    expect((name, question) == ("oom-fragmented.trace.zst", "report") and "at=" in (view or ""), name, question, view)
    fragment = b.eval("location.hash").replace("axis%3Devent", "axis%3Dtime")
    b.open(page, fragment=fragment)
    b.eval(BUSY)
    b.eval("new Promise(done => setTimeout(done, 2000))")
    expect(b.eval("location.hash") == fragment, "the address leads to", b.eval("location.hash"), "not", fragment)
    expect("Fragmented" in b.eval("document.getElementById('page').srcdoc"), "an address shows no answer")
    b.open(page, fragment="#file=mine.pickle&question=who")
    said = b.eval("document.getElementById('status').textContent")
    expect("mine.pickle" in said and "Drop that file" in said, "an address of a file says", said)


# What a person sees without scrolling: the place to drop a file, the answer's upper end, the words of one.
FIRST_SCREEN = """(() => {
    const seen = id => { const box = document.getElementById(id).getBoundingClientRect();
                         return box.height > 0 && box.bottom > 0 && box.top < innerHeight ? box.top : -1; };
    return { drop: seen('drop'), page: seen('page'), text: seen('text'), other: seen('other'),
             verdict: document.querySelector('.verdict strong')?.textContent,
             typed: document.querySelector('#text .paste code')?.textContent,
             wide: document.documentElement.scrollWidth - innerWidth };
})()"""
PASTE = """(() => {
    const data = new DataTransfer();
    data.setData('text/plain', %s);
    document.querySelector('%s').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true,
                                                                             cancelable: true }));
})(), 0"""


def check_first_screens(b, page):
    """The answer takes the place of the form, at each width; a text may be pasted into its field or anywhere."""
    text = (ROOT / "samples/oom-fragmented.log").read_text()
    for width, height in (1440, 900), (800, 1100), (390, 844):
        b.open(page, width=width, height=height)
        drop(b, RECORDINGS[0])
        seen = b.eval(FIRST_SCREEN)
        expect(seen["drop"] == -1 and 0 <= seen["page"] < height / 3 and seen["other"] > 0 and seen["wide"] <= 0, width,
               "drawn:", seen)
        b.eval("document.getElementById('other').click(), 0")
        seen = b.eval(FIRST_SCREEN)
        expect(seen["drop"] >= 0 and seen["page"] == -1, width, "asked for another file:", seen)
        for place in "#paste", "body":
            b.open(page, width=width, height=height)
            b.eval(PASTE % (json.dumps(text), place))
            b.eval(BUSY)
            seen = b.eval(FIRST_SCREEN)
            expect(seen["drop"] == -1 and seen["text"] > 0 and seen["verdict"] == "Fragmented:" and seen["typed"] ==
                   "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", width, "pasted into", place, seen)
        drop(b, RECORDINGS[0])
        expect(b.eval(FIRST_SCREEN)["page"] >= 0, width, "a recording after a text is not drawn")


def check_refusals(b, page, folder):
    """What is no recording is refused in the program's words, and a huge file before it is read."""
    b.open(page)
    bad = pathlib.Path(folder, "bad.pickle")
    bad.write_bytes(b"no recording")
    said = drop(b, bad)["ended"]
    expect(said.startswith("bad.pickle: ") and "\n" not in said, "a bad file is refused so:", said)
    huge = pathlib.Path(folder, "huge.pickle")
    with open(huge, "wb") as f:
        f.truncate(3 << 30)
    expect("has 3.0 GiB" in drop(b, huge)["ended"], "a huge file is not refused")


def check_gigabyte(b, page, replay, folder):
    """A snapshot of 1 GB gives the program's own answer, or a sentence."""
    big = pathlib.Path(folder, "big.pickle")
    subprocess.run([sys.executable, ROOT / "tests/make_big_pickle.py", big, "1000", "texts"], check=True)
    b.open(page)
    b.eval("document.getElementById('question').value = 'info', 0")
    seen = drop(b, big)
    done = subprocess.run([replay, "info", big.name], cwd=folder, capture_output=True, text=True)
    is_same = b.eval("document.getElementById('text').textContent") == done.stdout
    print(f"1 GB: {seen['seconds']:.0f} s, {'the same answer' if is_same else seen['ended']}")
    expect(is_same or seen["ended"].endswith("."), "neither an answer nor a sentence:", seen)
    expect(seen["progress"] > 0, "no progress is shown")


def main():
    replay, page = (os.path.abspath(path) for path in sys.argv[1:3])
    if not Browser.is_there():
        print("SKIP: needs a browser: Chromium is not installed")
        raise SystemExit(77)
    check_policy(page)
    b = Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            b.open(page)
            n_bytes = sum(compare(b, replay, path, folder) for path in RECORDINGS)
            print(f"{len(RECORDINGS) * len(QUESTIONS)} questions, {n_bytes:,} bytes of answers compared")
            check_shown(b, page, RECORDINGS[1])
            check_first_screens(b, page)
            check_address(b, page)
            check_refusals(b, page, folder)
            if "--gigabyte" in sys.argv:
                check_gigabyte(b, page, replay, folder)
    finally:
        b.close()
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
