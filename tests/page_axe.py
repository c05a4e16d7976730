# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""axe-core finds nothing to complain about on the pages of `replay report`, in light and dark, wide and narrow.

page_axe.py REPLAY SAMPLES FOLDER

axe-core comes with PyPI's axe-playwright-python. `./dev test` puts it into build/axe; AXE_DIR names another folder with
an axe.min.js.
"""
import os
import subprocess
import sys

from browser import Browser

replay, samples, folder = sys.argv[1:4]
WIDTHS = 1280, 320
# A request that has a stack is chosen, and all columns are shown.
CHOOSE = """new Promise(done => {
    const { scene, show } = window.replayPage;
    if (scene.trace)
        show({ request: Math.max(0, scene.trace.stack.findIndex(s => s > 0)) });
    document.getElementById('more-columns').click();
    document.querySelector('#difference-runs tbody button')?.click();
    document.querySelectorAll('#main details').forEach(part => { part.open = true; });
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""
FOUND = """axe.run(document).then(found => [found.passes.length, found.violations.map(v => v.id + ': ' + v.help + ' ' +
    v.nodes.slice(0, 5).map(n => n.target.join(' ')).join(', '))])"""


def axe_script():
    """The text of axe-core; None if it is not installed."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    place = os.environ.get('AXE_DIR', os.path.join(root, 'build/axe/axe_playwright_python'))
    path = os.path.join(place, 'axe.min.js')
    if not os.path.exists(path):
        return None
    with open(path, encoding='utf-8') as f:
        return f.read()


def write_pages():
    """A run out of memory, a sweep, and what differs between two recordings and between two sweeps."""
    oom, many, differs, sweeps = [os.path.join(folder, name + '.html') for name in ('oom', 'many', 'differs', 'sweeps')]
    subprocess.run([replay, 'report', os.path.join(samples, 'oom-fragmented.trace.zst'), '--html', oom], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([replay, 'report', os.path.join(samples, 'cnn.trace.zst'),
                    os.path.join(samples, 'mlp-adam.trace.zst'), '--device', '{100MiB,1GiB}', '--html', many],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([replay, 'diff', os.path.join(samples, 'gpt-bf16.trace.zst'),
                    os.path.join(samples, 'gpt-fp32.trace.zst'), '--html', differs], stdout=subprocess.DEVNULL)
    databases = [os.path.join(folder, name + '.db') for name in ('cnn', 'mlp-adam')]
    for database in databases:
        trace = os.path.basename(database).replace('.db', '.trace.zst')
        subprocess.run([replay, 'sweep', os.path.join(samples, trace), '--policy', 'best-fit', '--policy', 'pow2', '-o',
                        database], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([replay, 'diff'] + databases + ['--html', sweeps], stdout=subprocess.DEVNULL)
    return oom, many, differs, sweeps


def complaints(browser, page, axe):
    """What axe-core finds on a page; each of a page, a width and a colour scheme."""
    for dark in False, True:
        for width in WIDTHS:
            browser.open(page, width=width, dark=dark)
            browser.eval(CHOOSE)
            browser.eval(axe + '\n0')
            n_checked, found = browser.eval(FOUND)
            if n_checked < 20:
                yield os.path.basename(page) + ': axe-core has hardly checked anything'
            for text in found:
                yield '%s, %d wide, %s: %s' % (os.path.basename(page), width, 'dark' if dark else 'light', text)


def main():
    axe = axe_script()
    if not Browser.is_there():
        print('SKIP: needs a browser: chromium is not installed')
        return 77
    if axe is None:
        print('SKIP: needs a wheel: axe-playwright-python is not in build/axe, '
              'and AXE_DIR names no folder with axe.min.js')
        return 77
    browser = Browser()
    try:
        found = [text for page in write_pages() for text in complaints(browser, page, axe)]
    finally:
        browser.close()
    for text in found:
        print('FAILED:', text)
    return 1 if found else 0


sys.exit(main())
