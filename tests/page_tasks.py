# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What a person comes to a page for takes three actions at most, with a real mouse and real keys.

page_tasks.py REPLAY SAMPLES FOLDER

An action is a click, a key, a text that is typed, or a screen that is scrolled. Prints a line for each task.
"""
import json
import os
import subprocess
import sys

from browser import Browser

replay, samples, folder = sys.argv[1:4]
MOST = 3
WIDTH, HEIGHT = 1440, 900
failures = 0

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200))))"
BOX = """(() => {
    const box = document.querySelector(%s)?.getBoundingClientRect();
    return box && box.width > 0 ? [box.left, box.top, box.right, box.bottom] : null;
})()"""
# The page asks for the clipboard; here it is a variable.
CLIPBOARD = """Object.defineProperty(navigator, 'clipboard', { value: {
    writeText: async text => { window.copied = text; } } }); 0"""


def expect(is_true, *what):
    global failures
    if not is_true:
        failures += 1
        print('FAILED:', *what)


class Person:
    """Does things to a page as a person does, and counts them."""

    def __init__(self, browser, sample):
        self.browser, self.actions, self.trace = browser, 0, os.path.join(samples, sample + '.trace.zst')
        self.page = os.path.join(folder, sample + '.html')
        subprocess.run([replay, 'report', self.trace, '--html', self.page], stdout=subprocess.DEVNULL, check=False)
        browser.open(self.page, width=WIDTH, height=HEIGHT)
        browser.eval(CLIPBOARD)

    def box(self, selector):
        return self.browser.eval(BOX % json.dumps(selector))

    def sees(self, selector):
        """Whether all of it is on the screen, or as much of it as there is room for."""
        box = self.box(selector)
        return box is not None and box[1] >= -1 and min(box[3], box[1] + HEIGHT / 2) <= HEIGHT

    def click(self, selector):
        while not self.sees(selector) and self.actions < 20:
            self.browser.eval('scrollBy(0, innerHeight); 0')
            self.actions += 1
        left, top, right, bottom = self.box(selector)
        self.browser.click((left + right) / 2, (top + bottom) / 2)
        self.browser.eval(FRAMES)
        self.actions += 1

    def press(self, key):
        self.browser.press(key)
        self.browser.eval(FRAMES)
        self.actions += 1

    def type(self, text):
        self.browser.call('Input.insertText', text=text)
        self.browser.eval(FRAMES)
        self.actions += 1

    def text(self, selector):
        return self.browser.eval("document.querySelector(%s)?.textContent ?? ''" % json.dumps(selector))


def who_holds_it(browser):
    """The first line of `who` is on the screen."""
    person = Person(browser, 'oom-leak')
    person.click('#jump [data-to=holders-part]')
    done = subprocess.run([replay, 'who', person.trace, '--json', '-'], capture_output=True, text=True, check=True)
    first, shown = json.loads(done.stdout)['rows'][0], person.text('#holders tbody tr')
    expect(person.sees('#holders tbody tr'), 'who holds it is not on the screen')
    expect('leak.py:22' in first['name'] and 'leak.py:22' in shown and '%.1f MiB' % (first['bytes'] / (1 << 20)) in
           shown, first, 'is shown as', shown)
    return person.actions


def why_refused(browser):
    """The request, the largest hole and what pins it are on the screen."""
    person = Person(browser, 'oom-fragmented')
    person.click('#jump [data-to=refusal-part]')
    says = person.text('#refusal-part')
    expect(person.sees('#refusal-part'), 'why it was refused is not on the screen')
    expect('26.4 MiB were asked for' in says and 'hole' in says and 'after it' in says, 'it says', says[:200])
    return person.actions


def compare_settings(browser):
    """Two settings' memory at one moment are on the screen: as it ran, and what is recommended."""
    person = Person(browser, 'oom-fragmented')
    person.click('#jump [data-to=detail]')
    for side, words in ('a', 'as it ran'), ('b', 'recommended'):
        picked = browser.eval("document.getElementById('role-%s').textContent" % side)
        expect(person.sees('#map-' + side) and words in picked, side, 'is', picked)
    return person.actions


def find_a_line(browser):
    """What a line holds is said, and its requests are lit."""
    person = Person(browser, 'oom-fragmented')
    person.press('/')
    person.type('train_step')
    expect(person.sees('#find-says') and 'live at the peak' in person.text('#find-says'), person.text('#find-says'))
    expect(browser.eval("window.replayPage.view.group >= 0"), 'nothing is lit')
    return person.actions


def send_a_state(browser):
    """The link that was copied shows another person the same."""
    person = Person(browser, 'oom-fragmented')
    browser.eval("window.replayPage.show({ at: 700, request: 20 }); new Promise(done => setTimeout(done, 400))")
    person.click('#copy-link')
    view, link = browser.eval('[window.replayPage.view, window.copied]')
    browser.open(person.page, fragment='#' + link.partition('#')[2])
    expect(browser.eval('window.replayPage.view') == view, 'the link', link, 'shows', browser.eval(
        'window.replayPage.view'))
    return person.actions


def main():
    if not Browser.is_there():
        print('SKIP: needs a browser: chromium is not installed')
        return 77
    browser = Browser()
    try:
        for task in who_holds_it, why_refused, compare_settings, find_a_line, send_a_state:
            actions = task(browser)
            print('%s: %d action%s' % (task.__name__.replace('_', ' '), actions, '' if actions == 1 else 's'))
            expect(actions <= MOST, task.__name__, 'takes', actions)
    finally:
        browser.close()
    return 1 if failures else 0


sys.exit(main())
