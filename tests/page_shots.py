# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Makes screenshots of ten and more pages at three widths, light and dark, into a folder, for people to look at.

page_shots.py REPLAY SAMPLES FOLDER [NAME...]

Writes FOLDER/NAME.html and FOLDER/NAME-WIDTH-light.png, -dark.png. Names choose among the pages.
"""
import os
import pickle
import subprocess
import sys

from browser import Browser

replay, samples, folder = [os.path.abspath(path) for path in sys.argv[1:4]]
wanted = sys.argv[4:]
WIDTHS = 1440, 768, 360


def run(*arguments, status=(0,)):
    """Runs replay in the folder; the statuses in `status` are fine."""
    done = subprocess.run([replay] + list(arguments), cwd=folder, stdout=subprocess.DEVNULL)
    if done.returncode not in status:
        sys.exit('replay %s: status %d' % (' '.join(arguments), done.returncode))


def sample(name):
    """The path of a sample."""
    return os.path.abspath(os.path.join(samples, name + '.trace.zst'))


def report(name, *arguments):
    """A page of traces or results."""
    run('report', *arguments, '--html', name + '.html')


def sweep(name, *arguments):
    """A page of a sweep's database."""
    run('sweep', *arguments, '-o', name + '.db', status=(0, 1))
    report(name, name + '.db')
    os.remove(os.path.join(folder, name + '.db'))


def difference(name, *arguments):
    """A page of what differs."""
    run('diff', *arguments, '--html', name + '.html', status=(0, 1))


def difference_of_sweeps(name):
    """Two sweeps, each of two traces, which differ in the traces."""
    sides = {'a.db': ('gpt-bf16', 'cnn'), 'b.db': ('gpt-fp32', 'mlp-adam')}
    for database, traces in sides.items():
        run('sweep', *map(sample, traces), '--policy', 'best-fit', '--policy', 'pow2', '--policy', 'none', '--device',
            '{120MiB,300MiB,1GiB}', '-o', database, status=(0, 1))
    difference(name, *sides)
    for database in sides:
        os.remove(os.path.join(folder, database))


def large(name):
    """A long recording: requests that are small are summed up."""
    run('generate', 'mix:1000', '--events', '500000', '-o', 'large.trace')
    report(name, 'large.trace', '--policy', 'best-fit', '--policy', 'pytorch:expandable')
    os.remove(os.path.join(folder, 'large.trace'))


def mid_run(name):
    """A recording whose first third is lost, as in a ring buffer that was too small."""
    path = os.path.join(folder, 'mid-run.pickle')
    run('snapshot', sample('gpt-varlen-default'), '-o', path)
    with open(path, 'rb') as f:
        snapshot = pickle.load(f)
    records = snapshot['device_traces'][0]
    snapshot['device_traces'][0] = records[len(records) // 3:]
    with open(path, 'wb') as f:
        pickle.dump(snapshot, f)
    report(name, path)
    os.remove(path)


def ranks(name):
    """One job on four cards: a recording each."""
    report(name, *[sample(s) for s in ('gpt-bf16', 'gpt-fp32', 'gpt-bf16-ckpt', 'gpt-fp32-ckpt')])


EXPANDABLE = ['--policy', 'pytorch', '--policy', 'pytorch:expandable']
PAGES = {
    'small': lambda name: report(name, sample('mlp-adam')),
    'large': large,
    'refusal': lambda name: report(name, sample('oom-fragmented'), *EXPANDABLE),
    'too-large': lambda name: report(name, sample('oom-too-large')),
    'mid-run': mid_run,
    'expandable': lambda name: report(name, sample('gpt-varlen-expand'), *EXPANDABLE),
    'ranks': ranks,
    'sweep-8': lambda name: sweep(name, sample('gpt-varlen-default'), sample('cnn'), '--policy', 'best-fit', '--policy',
                                  'pow2', '--device', '{300MiB,1GiB}'),
    'sweep-4000': lambda name: sweep(
        name, os.path.abspath(samples), '--policy',
        'pytorch:max-split={none,32,64,128}MiB,gc={off,0.6,0.8},expandable={off,on}', '--policy', 'none',
        '--policy', 'pow2', '--device', '{100MiB,200MiB,300MiB,500MiB,1GiB,2GiB,8GiB,24GiB}'),
    'diff-recordings': lambda name: difference(name, sample('gpt-bf16'), sample('gpt-fp32')),
    'diff-policies': lambda name: difference(name, sample('gpt-varlen-default'), '--policy', 'best-fit',
                                             '--policy', 'pow2'),
    'diff-sweeps': difference_of_sweeps,
}


def shoot(browser, name):
    """All screenshots of a page."""
    for width in WIDTHS:
        for dark in False, True:
            browser.open(os.path.join(folder, name + '.html'), width=width, dark=dark)
            path = os.path.join(folder, '%s-%d-%s.png' % (name, width, 'dark' if dark else 'light'))
            browser.screenshot(path)
            for message in browser.messages:
                print(name, 'complains:', message)


def main():
    if not Browser.is_there():
        print('SKIP: needs a browser: chromium is not installed')
        return 77
    os.makedirs(folder, exist_ok=True)
    browser = Browser()
    for name, write in PAGES.items():
        if not wanted or name in wanted:
            write(name)
            shoot(browser, name)
            print(name)
    browser.close()
    return 0


sys.exit(main())
