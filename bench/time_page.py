#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How fast a page is in a browser: its first paint, when everything is drawn, and frames a second of a drag.

time_page.py PAGE [ROUNDS]

Prints JSON. A drag moves the cursor, or the window of time, by a little before every frame; a frame counts when the next
one is asked for, so the figure includes script, layout and painting. Needs Chromium.
"""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests'))
from browser import Browser     # noqa: E402

FRAMES = 60
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
SIZE = "({ requests: window.replayPage.scene.trace.n, runs: window.replayPage.scene.runs.size })"
DRAG = """new Promise(done => {
    const { view, scene, show } = window.replayPage, last = scene.trace.n_events, changes = %s;
    let frame = 0;
    const start = performance.now(), step = () => {
        if (frame === %d)
            return done(performance.now() - start);
        show(changes(frame++ / %d, last));
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""
CURSOR = '(share, last) => ({ at: Math.round(last * (0.2 + 0.6 * share)) })'
WINDOW = '(share, last) => ({ from: last * (0.1 + 0.3 * share), to: last * (0.5 + 0.3 * share) })'


def frames_a_second(browser, changes):
    return FRAMES * 1000 / browser.eval(DRAG % (changes, FRAMES, FRAMES))


def main():
    page, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    found = {'first_paint_ms': [], 'drawn_ms': [], 'cursor_frames': [], 'window_frames': []}
    browser = Browser()
    for _ in range(rounds):
        browser.open(page, width=1440)
        found['drawn_ms'].append(browser.eval('window.replayPage.drawnAt'))
        found['first_paint_ms'].append(browser.eval(FIRST_PAINT))
        found['cursor_frames'].append(frames_a_second(browser, CURSOR))
        found['window_frames'].append(frames_a_second(browser, WINDOW))
    size = browser.eval(SIZE)
    browser.close()
    print(json.dumps({'page_bytes': os.path.getsize(page), **size,
                      **{name: round(statistics.median(values), 1) for name, values in found.items()}}))


main()
