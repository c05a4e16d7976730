#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How fast a page is in a browser: its first paint, when all is drawn, its longest task, and the frames of a drag.

time_page.py CASE ROUNDS PAGE

Prints `page,CASE,metric,value`, a line for each round. A drag moves the cursor, or the window of time, by a little
before every frame; a frame counts when the next one is asked for, so the figure includes script, layout and painting.
Of a frame, of all tasks until everything is drawn, and of the longest of them, also the processor time of the thread
that does all this, which other work on the machine changes little. The browser's own tracing tells the tasks, in a load
of its own: it costs time.
Prints nothing without Chromium.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests'))
from browser import Browser     # noqa: E402

FRAMES = 60
REST_MS = 600                       # what is drawn when a page rests comes later than that it is drawn
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
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


def cpu_seconds(browser):
    """Of the page's main thread until now."""
    return next(m['value'] for m in browser.call('Performance.getMetrics')['metrics'] if m['name'] == 'TaskDuration')


def drag(browser, name, changes):
    """Frames a second, and milliseconds of processor time a frame."""
    before = cpu_seconds(browser)
    frames = FRAMES * 1000 / browser.eval(DRAG % (changes, FRAMES, FRAMES))
    return {name + '_frames_per_s': frames, name + '_frame_cpu_ms': (cpu_seconds(browser) - before) * 1000 / FRAMES}


def main_tasks(events):
    """Processor time of each task of the page's main thread, in milliseconds."""
    threads = {(e['pid'], e['tid']) for e in events
               if e['name'] == 'thread_name' and e['args']['name'] == 'CrRendererMain'}
    return [e['tdur'] / 1000 for e in events if e['name'].endswith('RunTask') and e['ph'] == 'X' and
            (e['pid'], e['tid']) in threads and 'tdur' in e]


def trace_load(browser, page):
    """Loads a page; its tasks until it rests."""
    events, receive = [], browser.receive

    def collect():
        message = receive()
        events.extend(message['params']['value'] if message.get('method') == 'Tracing.dataCollected' else [])
        return message
    browser.receive = collect
    browser.call('Tracing.start', transferMode='ReportEvents', traceConfig={'includedCategories': ['toplevel']})
    browser.open(page, width=1440)
    browser.eval('new Promise(done => setTimeout(done, %d))' % REST_MS)
    browser.call('Tracing.end')
    while browser.receive().get('method') != 'Tracing.tracingComplete':
        pass
    browser.receive = receive
    tasks = main_tasks(events)
    return {'tasks_cpu_ms': sum(tasks), 'longest_task_cpu_ms': max(tasks)}


def main():
    case, rounds, page = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if not Browser.is_there():
        print('time_page.py: chromium is not installed: pages are not measured', file=sys.stderr)
        return
    browser = Browser()
    browser.call('Performance.enable', timeDomain='threadTicks')
    for _ in range(rounds):
        browser.open(page, width=1440)
        figures = {'first_paint_ms': browser.eval(FIRST_PAINT), 'drawn_ms': browser.eval('window.replayPage.drawnAt'),
                   **drag(browser, 'cursor', CURSOR), **drag(browser, 'window', WINDOW),
                   'requests': browser.eval('window.replayPage.scene.trace.n'),
                   'policies': browser.eval('window.replayPage.scene.runs.size'),
                   'events': browser.eval('window.replayPage.scene.trace.n_events'),
                   'file_mb': os.path.getsize(page) / 1e6}
        figures.update(trace_load(browser, page))
        for metric, value in figures.items():
            print('page,%s,%s,%.6g' % (case, metric, value))
    browser.close()


main()
