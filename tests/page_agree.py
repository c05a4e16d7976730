# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""No figure of a page contradicts another: headline, sentences, picture, charts, maps, tables and their data are read
in a browser, and what names the same thing must be the same.

page_agree.py REPLAY FOLDER RECORDING...

Pages are written into FOLDER. What a page rounds may differ by half of its last digit.
"""
import json
import os
import re
import subprocess
import sys

from browser import Browser

replay, folder = sys.argv[1:3]
UNITS = {'B': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}
SIZE = r'\d[\d,]*(?:\.\d+)? (?:[KMG]i)?B\b'
failures = 0


def range_of(text):
    """The bytes that a size may stand for, '609.09 MiB': what rounds to it, and what a card's size rounds up from."""
    number, unit = text.replace(',', '').split()
    digits = len(number.partition('.')[2])
    step = UNITS[unit] / 10 ** digits if digits > 0 else 0
    return float(number) * UNITS[unit] - step, float(number) * UNITS[unit] + step


def is_same(text, value):
    """Whether a size stands for a number of bytes, or for what another size stands for."""
    low, high = (text, text) if isinstance(text, (int, float)) else range_of(text)
    other_low, other_high = (value, value) if isinstance(value, (int, float)) else range_of(value)
    return low - 1 <= other_high and other_low <= high + 1


def least_of(value):
    """The least that a size or a number stands for."""
    return value if isinstance(value, (int, float)) else range_of(value)[0]


def sizes_in(text):
    return re.findall(SIZE, text)


def live_of(tip):
    """The line of a tip that says what is live."""
    return next((line for line in tip if line.endswith(' live')), '')


# Everything that a page says, by what says it; drawn figures come from the functions that draw them.
TOLD = """(async () => {
    const { scene, view, show, says } = window.replayPage, byId = id => document.getElementById(id);
    const table = JSON.parse(byId('data').textContent), text = id => byId(id)?.textContent ?? '';
    const frames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
        setTimeout(done))));
    const rowOf = row => Object.fromEntries([['setting', table.settings[row[1]].label], ['outcome', row[2]],
        ['capacity', row[3]], ...table.columns.map((c, i) => [c.name, row[4 + i]])]);
    document.querySelectorAll('details').forEach(part => { part.open = true; });
    const told = { answer: table.answer, trace: table.cases[0], rows: table.rows.map(rowOf),
        best: table.cases[0].best ?? null, ooms: table.ooms,
        figures: Object.fromEntries([...document.querySelectorAll('.key-figures div')].map(
            d => [d.firstChild.textContent, d.lastChild.textContent])),
        verdict: document.querySelector('.verdict')?.textContent ?? '', paste: document.querySelector('.paste code')
            ?.textContent ?? null,
        prose: [...document.querySelectorAll('header p, header li')].map(p => p.textContent),
        cells: [...document.querySelectorAll('#rows tbody tr')].map(tr => [tr.className, [...tr.children].map(
            td => [td.dataset.column ?? '', td.textContent])]),
        units: [...document.querySelectorAll('#rows thead th')].map(th => th.textContent),
        bars: [...document.querySelectorAll('#bars .bar:has(.name)')].map(
            bar => ['.name .label', '.value'].map(part => bar.querySelector(part)?.textContent ?? '')),
        waterfall: [...document.querySelectorAll('#waterfall .bar')].map(
            bar => ['.name', '.value'].map(part => bar.querySelector(part).textContent)),
        points: [...document.querySelectorAll('#frontier .point')].map(p => p.getAttribute('aria-label')),
        all: document.body.innerText, runs: [] };
    if (!scene.trace)
        return told;
    const trace = scene.trace;
    told.recorded = trace.refusals;
    told.picture = table.answer ? { says: text('picture-says'), keys: [...document.querySelectorAll(
        '#picture-keys .key')].map(k => k.textContent), tip: byId('picture-canvas').getAttribute('aria-label') } : null;
    told.reserved = scene.trace.reserved ? Math.max(...scene.trace.reserved.sum) : 0;
    told.line = scene.recorded?.line ? says.reserved(scene.recorded.line, scene.peak) : 0;
    told.frames = trace.stacks.texts;
    told.levels = says.levels();
    told.live = says.live(scene.peak);
    for (const [name, moment] of [['peak', scene.peak], ['refusal', trace.refusals.at(-1)?.[0]]]) {
        if (moment === undefined)
            continue;
        show({ at: moment, hold: 'at', since: moment, from: 0, to: trace.n_events });
        await frames();
        told[name] = { cursor: text('at-says'), holders: text('holder-says'), tip: says.tip(moment) };
    }
    for (const run of scene.runs.values()) {
        show({ a: run.row, at: run.peak_moment });
        await frames();
        told.runs.push({ row: run.row, cursor: says.reserved(run, run.peak_moment), map: text('map-a-says'),
            refusals: run.refusals, refused: byId('refusal-part').hidden ? '' : text('refusal-title') });
    }
    return told;
})()"""


class Page:
    """What one page says, and complaints about it."""

    def __init__(self, name, told):
        self.name, self.told, self.answer = name, told, told['answer'] or {}
        self.refused = bool(self.told.get('recorded')) and 'asked for' in told['figures']

    def expect(self, is_true, *what):
        global failures
        if not is_true:
            failures += 1
            print('FAILED:', self.name + ':', *what)

    def same(self, thing, value, **places):
        """Each place is a size, or a text of which a size must be the value."""
        for place, text in places.items():
            found = sizes_in(text or '')
            if 'up to' in (text or ''):      # of a long recording the most of several events is known
                found = [size for size in found if range_of(size)[1] >= least_of(value)] and [value]
            self.expect(any(is_same(size, value) for size in found), thing, 'is', value, 'but', place, 'says', text)

    def check(self):
        for test in (self.check_live, self.check_least, self.check_reserved, self.check_refusal, self.check_card,
                     self.check_rows, self.check_runs, self.check_kinds, self.check_outcomes, self.check_text):
            test()

    def check_live(self):
        """What was live at most."""
        told, peak = self.told, self.told['trace']['trace_peak_requested_bytes']
        if 'peak' not in told:
            return
        self.same('the live peak', peak, cursor=told['peak']['cursor'].split(' live;')[0])
        if not told['peak']['tip'][0].startswith('refused'):         # the tip is about the refusal nearby
            self.same('the live peak', peak, tip=live_of(told['peak']['tip']))
        self.expect(told['live'] == peak, 'the live peak is', peak, 'but the chart has', told['live'])
        if 'live at most' in told['figures']:
            self.same('the live peak', peak, headline=told['figures']['live at most'])
        held = [range_of(size) for size in sizes_in(told['peak']['holders'])]
        self.expect(sum(low for low, _ in held) <= peak <= sum(high for _, high in held), 'the live peak is', peak,
                    'but', told['peak']['holders'])

    def check_least(self):
        """What no allocator can do without: one figure, wherever it stands."""
        levels = [level for level in self.told.get('levels', []) if 'no allocator needs less' in level['text']]
        for level in levels:
            for text in self.told['prose']:
                for size in re.findall(r'(' + SIZE + r'),? and no allocator needs less', text):
                    self.expect(is_same(size, level['bytes']), 'no allocator needs less than', size, 'and', level)
        self.expect(len(levels) <= 1, 'two levels that no allocator needs less than:', levels)
        least = levels[0]['bytes'] if levels else 0
        for row in self.told['rows']:
            if row['outcome'] == 'ok' and row['peak_reserved_bytes'] is not None:
                self.expect(row['peak_reserved_bytes'] >= least or self.told['trace']['trace_ends'] == 'refused',
                            row['setting'], 'needs', row['peak_reserved_bytes'], 'less than', levels)

    def check_reserved(self):
        """What was reserved at most: as recorded in the headline; a replay that differs is called one."""
        recorded, ran = self.answer.get('recorded_reserved_bytes', 0), self.answer.get('as_it_ran')
        said = self.told['figures'].get('reserved at most')
        if said and recorded > 0:
            self.same('what was reserved', recorded, headline=said, verdict=self.told['verdict'] + ' '.join(
                self.told['prose'][:2]))
        keys = ' '.join(self.told['picture']['keys']) if self.told.get('picture') else 'replayed as it ran'
        drawn = self.told.get('reserved', 0)
        if recorded > 0 and drawn > 0:
            self.expect(drawn == recorded, 'most recorded is', recorded, 'but the line has', drawn)
        elif ran is not None and recorded not in (0, self.told['rows'][ran]['peak_reserved_bytes']):
            self.expect('replayed as it ran' in keys, 'a replayed figure is called recorded in', keys)
        if self.told.get('line'):
            self.expect('as it ran (recorded)' in keys, 'the recorded line is not called so in', keys)
            self.same('what was reserved then', self.told['line'], cursor=self.told['peak']['cursor'].split(
                'recorded ')[-1].split(',')[0])

    def check_refusal(self):
        """The refused request, and what was live then."""
        if not self.refused:
            return
        told, (moment, asked) = self.told, self.told['recorded'][-1]
        self.same('what was asked for', asked, headline=told['figures']['asked for'], tip=told['refusal']['tip'][0])
        self.same('what was live then', told['figures']['live then'],
                  cursor=told['refusal']['cursor'].split(' live;')[0], tip=live_of(told['refusal']['tip']))
        for run in told['runs']:
            same_moment = [bytes_asked for at, bytes_asked in run['refusals'] if at == moment]
            self.expect(same_moment in ([], [asked]), 'run', run['row'], 'was refused', same_moment, 'not', asked)

    def check_card(self):
        """The smallest card, in the headline and in its sentence."""
        for name, figure in self.told['figures'].items():
            if name.startswith('smallest card'):
                for text in self.told['prose']:
                    if text.startswith('The smallest card'):
                        self.same('the smallest card', sizes_in(figure)[0], sentence=text)

    def check_rows(self):
        """A run's figures in the table, the bars and the frontier; one winner."""
        unit = next((u for u in ('GiB', 'MiB', 'KiB') if any('(%s)' % u in t for t in self.told['units'])), 'MiB')
        rows = {row['setting']: row for row in self.told['rows']}
        for _, cells in self.told['cells']:
            row = next((r for s, r in rows.items() if s in (cells[0][1], 'pytorch:' + cells[0][1])), None)
            self.expect(row is not None, 'the table has', cells[0][1], 'but there are', list(rows))
            for name, text in cells if row else ():
                if name.endswith('_bytes') and row[name] is not None and not text.startswith('-'):
                    self.same(name + ' of ' + row['setting'], row[name], table='%s %s' % (text, unit))
            if row and row['card_peak_bytes']:
                for name, text in self.told['bars']:
                    if name == cells[0][1]:
                        self.same('the card of ' + name, row['card_peak_bytes'], bar=text)
                for point in self.told['points']:
                    if point.startswith(cells[0][1] + ':'):
                        self.same('the card of ' + cells[0][1], row['card_peak_bytes'], frontier=point)
        bold = [cells[0][1] for kind, cells in self.told['cells'] if kind == 'best']
        has_best = self.told['best'] is not None and not self.answer.get('is_uncured')
        best = [self.told['rows'][self.told['best']]['setting']] if has_best else []
        self.expect([b.split(':', 1)[-1] for b in bold] == [b.split(':', 1)[-1] for b in best], 'bold is', bold,
                    'and best', best)

    def check_runs(self):
        """Reserved at a run's peak, by its line and by its map."""
        for run in self.told['runs']:
            peak = self.told['rows'][run['row']]['peak_reserved_bytes']
            self.expect(run['cursor'] == peak, 'run', run['row'], 'reserves', peak, 'but its line has', run['cursor'])
            self.same('what run %d reserves' % run['row'], peak, map=run['map'].split(' reserved')[0])
            if run['refusals']:
                self.same('what run %d refuses' % run['row'], run['refusals'][0][1], title=run['refused'])

    def check_kinds(self):
        """The kinds of the picture add up to what is live."""
        picture = self.told.get('picture')
        if not picture or not picture['tip']:
            return
        live = next((s for s in picture['tip'].split('; ') if s.endswith(' live')), None)
        kinds = [k for k in picture['keys'] if not k.startswith('reserved')]
        total = sum(range_of(sizes_in(k)[-1])[0] for k in kinds if sizes_in(k))
        most = range_of(sizes_in(live)[0])[1]
        self.expect(total <= most * 1.001 + 2e4, 'kinds add up to', total, 'of', live, kinds)

    def check_outcomes(self):
        """Where no setting cures it, none is shown as the one that does."""
        ends_refused = self.told['trace']['trace_ends'] == 'refused'
        for kind, cells in self.told['cells']:
            outcome = next(text for name, text in cells if name == 'outcome')
            if ends_refused:
                self.expect(outcome != 'ok', 'the recording ends at a refusal, and', cells[0][1], 'is', outcome)
            if self.refused and self.told['paste'] is None:
                self.expect(kind != 'best', 'no setting cures it, but', cells[0][1], 'is the winner')

    def check_text(self):
        wrong = re.findall(r'.{0,40}(?:NaN|Infinity|undefined|\d[eE][-+]?\d).{0,20}', self.told['all'])
        wrong = [text for text in wrong if not re.search(r'0x|[0-9a-f]{6}', text)]
        self.expect(wrong == [], 'shows what is no figure:', wrong[:3])


def write_page(recording):
    """The page of a recording; None if it has nothing to replay."""
    name = re.sub(r'\.(trace\.zst|zst|pickle)$', '', os.path.basename(recording))
    path = os.path.join(folder, name + '.html')
    done = subprocess.run([replay, 'report', os.path.abspath(recording), '--html', path], capture_output=True)
    return path if done.returncode in (0, 1) and os.path.exists(path) else None


def check_blame(page, recording):
    """What is reserved beyond the live peak is shared among the rules as `replay blame` shares it, to the byte."""
    shown = page.answer.get('blame')
    if shown is None:
        return
    done = subprocess.run([replay, 'blame', recording, '--json', '-'], capture_output=True, text=True, check=True)
    blame, ran = json.loads(done.stdout), page.told['rows'][page.answer['as_it_ran']]['peak_reserved_bytes']
    parts = [{key: part[key] for key in ('words', 'does', 'bytes')} for part in blame['parts'] if part['can_matter']]
    expected = {**{key: blame[key] for key in ('peak_reserved_bytes', 'live_peak_bytes', 'is_cut')},
                'help': blame['help'], 'parts': parts}
    page.expect(shown == expected, 'blame says', expected, 'and the page', shown)
    total = shown['live_peak_bytes'] + sum(part['bytes'] for part in shown['parts'])
    page.expect(total == shown['peak_reserved_bytes'] == ran, 'the parts sum to', total, 'of', ran)
    values = [shown['live_peak_bytes']] + [part['bytes'] for part in parts] + [ran]
    drawn, has_rest = page.told['waterfall'], ran > shown['live_peak_bytes']
    page.expect(len(drawn) == (len(values) if has_rest else 0), 'the waterfall has', len(drawn), 'bars')
    for (name, text), value in zip(drawn, values):
        page.expect(text.startswith('−') == (value < 0) and is_same(text.lstrip('−'), abs(value)), name, 'is', text,
                    'not', value)


def check_no_folder(page, path, recording):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    page.expect(os.path.dirname(os.path.abspath(recording)) + '/' not in text, 'has a folder of the machine')
    files = re.findall(r'(?<=[\s"])(?:/[\w.-]+){2,}\.(?:py|cpp|cu|h):\d+', text)
    files += [frame for frame in page.told.get('frames', []) if re.search(r'(?: |^)(?:/|[A-Z]:\\)', frame)]
    page.expect(files == [], 'has files with their folders:', files[:3])


def main():
    if not Browser.is_there():
        print('SKIP: needs a browser: chromium is not installed')
        return 77
    browser, n, n_blamed = Browser(), 0, 0
    try:
        for recording in sys.argv[3:]:
            path = write_page(recording)
            if path is None:
                continue
            browser.open(path, width=1440)
            page = Page(os.path.basename(path), browser.eval(TOLD))
            page.expect(browser.messages == [], 'complains:', browser.messages)
            page.check()
            check_blame(page, recording)
            check_no_folder(page, path, recording)
            n += 1
            n_blamed += 'blame' in page.answer
    finally:
        browser.close()
    print(json.dumps({'pages': n, 'with a waterfall': n_blamed, 'contradictions': failures}))
    return 1 if failures or n == 0 else 0


sys.exit(main())
