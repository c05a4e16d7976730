# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The page of `replay report` in a real browser: what it shows is what the JSON says, and text stays text.

page_browser.py REPLAY SAMPLES FOLDER
"""
import csv
import json
import os
import pickle
import subprocess
import sys

from browser import Browser

replay, samples, folder = sys.argv[1:4]
MIB = 1 << 20
PHONE = 390
NARROW = 320
failures = 0


def expect(is_true, *what):
    global failures
    if not is_true:
        failures += 1
        print('FAILED:', *what)


def run(*arguments, status=0):
    done = subprocess.run([replay] + list(arguments), capture_output=True, text=True, cwd=folder)
    expect(done.returncode == status, 'replay', *arguments, 'ended with', done.returncode, done.stderr)
    return done.stdout


def flat(run_object, prefix=''):
    """The members of a run by their paths, joined by '_', as CSV names them."""
    members = {}
    for key, value in run_object.items():
        if isinstance(value, dict):
            members.update(flat(value, prefix + key + '_'))
        else:
            members[prefix + key] = value
    return members


def cell_text(name, value):
    """How the page writes a value; sizes of this test are in MiB."""
    if value is None:
        return '–'
    if '_bytes' in name:
        return '%.1f' % (value / MIB)
    if name.endswith('_ns'):
        return '%.1f' % (value / 1e6)
    if name == 'fragmentation_utilization':
        return '%.1f' % (100 * value)
    return f'{value:,}'


TABLE = """[...document.querySelectorAll('#rows tbody tr')].map(tr => [...tr.children].map(
    td => [td.dataset.column || '', td.dataset.value, td.textContent]))"""
PAGE_DATA = "JSON.parse(document.getElementById('data').textContent)"


def expect_quiet(browser, what):
    expect(browser.messages == [], what, 'has complaints:', browser.messages)
    expect(all(url.startswith('file:') for url in browser.requests), what, 'asks for', browser.requests)
    expect(len(browser.requests) == 1, what, 'asks for more than itself:', browser.requests)
    expect(browser.eval("document.documentElement.dataset.state") == 'drawn', what, 'is not drawn')
    unread = browser.eval("""[...document.querySelectorAll('header, main')].map(
        part => /.{0,40}`.{0,40}/.exec(part.textContent)?.[0]).filter(text => text)""")
    expect(unread == [], what, 'shows backticks:', unread)


def expect_table(browser, runs):
    rows = {cells[0][2]: {name: (value, text) for name, value, text in cells[1:]} for cells in browser.eval(TABLE)}
    expect(sorted(rows) == sorted(runs), 'the table has', list(rows))
    for policy, cells in rows.items():
        for name, (value, text) in cells.items():
            stored = runs[policy][name]
            if name == 'outcome':
                expect(text == {'ok': 'ok', 'oom': 'out of memory'}[stored], policy, name, text)
                continue
            expect((value or None) == (None if stored is None else str(stored)), policy, name, value, stored)
            expect(text == cell_text(name, stored), policy, name, 'is shown as', text, 'for', stored)
        expect(len(cells) == 15, policy, 'has', len(cells), 'columns')


# What the page has unpacked, for one run: peaks by its course and by its memory, and whether blocks lie as they must.
RUN_FACTS = """(() => {
    const { scene, memoryAt } = window.replayPage, top = values => values.reduce((a, b) => Math.max(a, b), 0);
    return [...scene.runs.values()].map(run => {
        const map = memoryAt(run, scene.trace, run.peak_moment), bytesOf = piece => piece.kind === 1 ? 0 : piece.bytes;
        let wrong = 0, placed = 0;
        for (const { piece, blocks } of map) {
            let end = piece.addr;
            for (const i of blocks) {
                wrong += run.addr[i] < end || run.block[i] < scene.trace.bytes[i];
                end = run.addr[i] + run.block[i];
                placed += run.block[i];
            }
            wrong += end > piece.addr + piece.bytes;
        }
        return { row: run.row, wrong, placed, reserved: run.reserved && top(run.reserved.sum),
            held: map.reduce((sum, m) => sum + bytesOf(m.piece) + m.mapped.reduce((s, p) => s + p.bytes, 0), 0),
            peaks: Object.fromEntries(Object.keys(run.course).filter(k => run.course[k].most).map(
                k => [k, top([...run.course[k].most])])) };
    });
})()"""


def expect_course(browser, runs, names):
    """What is drawn over time and in the maps has the peaks of the results."""
    data = browser.eval(PAGE_DATA)
    facts = browser.eval(RUN_FACTS)
    expect(len(facts) == len(names), 'unpacked are', len(facts))
    for r in facts:
        policy = data['settings'][data['rows'][r['row']][1]]['label']
        for name in 'requested', 'allocated', 'active', 'reserved':
            expect(r['peaks'][name] == runs[policy]['peak_%s_bytes' % name], policy, name, r['peaks'][name])
        expect(r['peaks']['inactive_split'] == runs[policy]['fragmentation_inactive_split_bytes_peak'], policy)
        peak = runs[policy]['peak_reserved_bytes']
        expect(r['wrong'] == 0, policy, 'has', r['wrong'], 'blocks that overlap or leave their segment')
        if r['reserved'] is not None:        # every piece of memory is there
            expect(r['reserved'] == peak, policy, 'reserved by its memory:', r['reserved'])
            expect(r['held'] == peak, policy, 'the map at the peak holds', r['held'])


def expect_words(browser, runs):
    best = runs['best-fit']
    sentences = browser.eval("document.querySelector('header').textContent")
    expect('%.0f MiB' % (best['peak_reserved_bytes'] / MIB) in sentences, 'the sentences lack the best run')
    expect_readings(browser, best)
    bars = browser.eval("[...document.querySelectorAll('#bars .value')].map(t => t.textContent)")
    for policy, r in runs.items():
        expect(any(b.startswith('%.1f MiB' % (r['card_peak_bytes'] / MIB)) for b in bars), policy, 'in', bars)
    points = browser.eval("[...document.querySelectorAll('#frontier .point')].map(p => p.getAttribute('aria-label'))")
    expect(len(points) == sum(r['outcome'] == 'ok' for r in runs.values()), 'points:', points)
    oom = browser.eval("document.querySelector('#ooms tbody').textContent")
    for name in 'oom_first_requested_bytes', 'oom_first_reserved_bytes':
        expect('%.1f MiB' % (runs['pow2'][name] / MIB) in oom, name, 'is not in', oom)
    expect('ran out of memory' in browser.eval("document.querySelector('#explanations details').textContent"),
           'the refusal is not explained')


FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"


def show(browser, **changes):
    """Changes what the page shows, and waits until it is drawn."""
    browser.eval('window.replayPage.show(%s)' % json.dumps(changes))
    browser.eval(FRAMES)


def text_of(browser, name):
    return browser.eval("document.getElementById('%s').textContent" % name)


def expect_readings(browser, best):
    """At the peak the cursor and the map say what the results say; the refusal is drawn."""
    row, peak = browser.eval("""(() => {
        const { scene } = window.replayPage, table = JSON.parse(document.getElementById('data').textContent);
        const run = [...scene.runs.values()].find(r => table.settings[table.rows[r.row][1]].label === 'best-fit');
        return [run.row, run.peak_moment];
    })()""")
    data = browser.eval(PAGE_DATA)
    show(browser, a=next(o[0] for o in data['ooms']))
    refusal = text_of(browser, 'refusal')
    expect('the request' in refusal and 'hole' in refusal, 'the refusal is not drawn:', refusal)
    show(browser, a=row, at=peak)
    shown = '%.1f MiB' % (best['peak_reserved_bytes'] / MIB)
    expect(shown in text_of(browser, 'at-says'), 'the cursor at the peak says', text_of(browser, 'at-says'))
    expect(text_of(browser, 'map-a-says').startswith(shown + ' reserved'), 'map:', text_of(browser, 'map-a-says'))


CATEGORIES = """(() => {
    const { scene, heldAt } = window.replayPage, t = scene.trace, sums = {};
    const words = t.categories.replaceAll(' (a guess)', '').split(',');
    for (const i of heldAt(t, t.live_peak_moment))
        sums[words[t.category[i]]] = (sums[words[t.category[i]]] || 0) + t.bytes[i];
    return sums;
})()"""


def expect_categories(browser, trace):
    """At the peak of live data the page's categories are those of `replay who`."""
    told = json.loads(run('who', trace, '--at', 'peak', '--by', 'category', '--all', '--json', '-'))
    expect(browser.eval(CATEGORIES) == {row['name']: row['bytes'] for row in told['rows']}, 'categories differ')
    show(browser, color='category')
    expect('activations' in text_of(browser, 'groups'), 'the legend of categories is', text_of(browser, 'groups'))


def expect_one_winner(browser, text):
    """Headline, table, bars, frontier and the words on the terminal put the same run first."""
    verdict = browser.eval("document.querySelector('.says-best').textContent")
    first = browser.eval("document.querySelector('#rows tbody tr').className")
    name = browser.eval("document.querySelector('#rows tbody tr td, #rows tbody tr th').textContent")
    bar = browser.eval("document.querySelector('#bars .bar .name').firstChild.textContent")
    point = browser.eval("document.querySelector('#frontier .point.best').getAttribute('aria-label')")
    expect(first == 'best', 'the first row of the table is', first)
    for where, shown in ('headline', verdict), ('bars', bar), ('frontier', point), ('terminal', text):
        expect(shown.startswith(name), 'the table begins with', name, 'and the', where, 'with', shown)
    flat_text = ' '.join(text.split())
    sentences = browser.eval("[...document.querySelectorAll('header .lead, header .verdict')].map(p => p.textContent)")
    for sentence in sentences:
        if sentence not in answer_of(browser):
            expect(' '.join(sentence.split()) in flat_text, 'the terminal lacks', sentence)


def answer_of(browser):
    """The sentences of the answer on top, which only the page has."""
    return browser.eval("[...document.querySelectorAll('#answer p, .told')].map(p => p.textContent)")


def expect_usable(browser):
    """Sorting and the map answer to the keyboard."""
    browser.eval("""[...document.querySelectorAll('#rows thead button')].find(
        b => b.textContent.startsWith('driver calls')).focus()""")
    for want, order in ('ascending', 1), ('descending', -1):
        browser.press('Enter')
        browser.eval("document.activeElement.click()")
        sort, calls = browser.eval("""[document.activeElement.closest('th').getAttribute('aria-sort'),
            [...document.querySelectorAll('#rows td[data-column=device_calls]')].map(
                td => Number(td.dataset.value))]""")
        expect(sort == want and calls == sorted(calls)[::order], want, sort, calls)
    expect_keys(browser)
    expect_address(browser)


def expect_keys(browser):
    """Plots and maps move cursor and selection by the keyboard, and all views follow."""
    browser.eval("document.getElementById('map-a').focus()")
    chosen = set()
    for key in 'ArrowRight', 'ArrowRight', 'ArrowRight':
        browser.press(key)
        browser.eval(FRAMES)
        chosen.add(text_of(browser, 'selection'))
    expect(len(chosen) == 3 and all('Exactly' in t for t in chosen), 'moving over the map says', chosen)
    before = browser.eval('window.replayPage.view.at')
    browser.eval("document.getElementById('requests').focus()")
    browser.press('ArrowLeft')
    browser.eval(FRAMES)
    expect(browser.eval('window.replayPage.view.at') < before, 'the cursor does not move')
    browser.press('ArrowUp')
    browser.eval(FRAMES)
    expect('Exactly' in text_of(browser, 'selection'), 'no request is chosen')
    show(browser, at=0)
    expect(text_of(browser, 'at-says').startswith('At the start'), 'the start reads', text_of(browser, 'at-says'))


def expect_address(browser):
    """The address holds the view: another page opened with it shows the same."""
    show(browser, request=7, zoom=2, color='size')
    browser.eval('new Promise(done => setTimeout(done, 400))')
    fragment = browser.eval('location.hash')
    view = browser.eval('window.replayPage.view')
    says = text_of(browser, 'selection')
    browser.open(os.path.join(folder, 'run.html'), fragment=fragment)
    expect_quiet(browser, 'a page with an address')
    expect(browser.eval('window.replayPage.view') == view, 'the view of', fragment, 'is another')
    expect(text_of(browser, 'selection') == says, 'the selection of', fragment, 'is another')
    for fragment in '#request=1e99&a=77&at=-5&color=<b>&from=x&zoom=', '#request=0.5&a=0.25&group=1.5&hidden=0.1':
        browser.open(os.path.join(folder, 'run.html'), fragment=fragment)
        expect_quiet(browser, 'a page with a wrong address')


def test_numbers(browser):
    trace = os.path.join(samples, 'gpt-varlen-default.trace.zst')
    common = [trace, '--policy', 'best-fit', '--policy', 'pow2', '--policy', 'none', '--device', 'sim:300MiB']
    run(*common, '--json', 'run.json', status=1)
    text = run('report', 'run.json', '--html', 'run.html', '--md', 'run.md', '--csv', 'run.csv')
    with open(os.path.join(folder, 'run.json'), encoding='utf-8') as f:
        runs = {r['policy']: flat(r) for r in json.load(f)['runs']}
    for r in runs.values():
        for name in 'event', 'requested_bytes', 'reserved_bytes', 'device_free_bytes':
            r.setdefault('oom_first_' + name, None)
    browser.open(os.path.join(folder, 'run.html'))
    expect_quiet(browser, 'the page')
    expect_table(browser, runs)
    expect_course(browser, runs, runs)
    expect_words(browser, runs)
    expect_one_winner(browser, text)
    expect_usable(browser)
    expect_categories(browser, trace)
    expect_files(runs)


# Of a page about one recording: what stands where, and the figures of one thing that are in several places.
FIRST_SCREEN = """(() => {
    const bottom = name => document.querySelector(name)?.getBoundingClientRect().bottom ?? -1;
    return { verdict: bottom('.verdict'), figures: bottom('.key-figures'), picture: bottom('#picture-canvas'),
        acts: document.querySelectorAll('#answer .paste, #answer .act').length,
        isFolded: !document.getElementById('prose').open,
        drawn: [...document.getElementById('picture-canvas').getContext('2d').getImageData(0, 0, 400, 200).data]
            .some(v => v > 0) };
})()"""
ANSWER = """(() => {
    const { scene, heldAt } = window.replayPage, table = JSON.parse(document.getElementById('data').textContent);
    const i = table.columns.findIndex(c => c.name === 'peak_reserved_bytes') + 4, ran = table.answer.as_it_ran;
    const figures = Object.fromEntries([...document.querySelectorAll('.key-figures div')].map(
        d => [d.firstChild.textContent, d.lastChild.textContent]));
    return { figures, recorded: table.answer.recorded_reserved_bytes, ran: table.rows[ran]?.[i] ?? null,
        verdict: document.querySelector('.verdict').textContent, title: document.title,
        keys: document.getElementById('picture-keys').textContent, refusals: scene.trace.refusals,
        what: document.body.innerText };
})()"""
SAMPLES_LOOKED_AT = ['oom-fragmented', 'oom-leak', 'oom-too-large', 'oom-halves-batch', 'oom-others', 'oom-long-run',
                     'gpt-varlen-default', 'gpt-varlen-expand']


def expect_agreeing(browser, name, told):
    """A figure that is said twice is the same; one that was not recorded but replayed is called so."""
    answer = browser.eval(ANSWER)
    figures = answer['figures']
    expect(name in answer['title'] and samples not in answer['what'], name, 'is called', answer['title'])
    expect(len(figures) == 3, name, 'has the figures', figures)
    if name == 'oom-long-run':
        expect(any(v.startswith('at least') for v in figures.values()), name, 'was cut, but its card is', figures)
    for thing in 'reserved at most', 'live at most':
        if thing in figures:
            expect(figures[thing] in answer['verdict'], name, figures, 'but', answer['verdict'])
    if 'reserved at most' in figures:
        expect(answer['recorded'] == told, name, 'recorded', answer['recorded'], told)
    if answer['ran'] is not None and answer['recorded'] > 0 and answer['ran'] != answer['recorded']:
        expect(any(words in answer['keys'] for words in ('as it ran (recorded)', 'replayed as it ran')), name,
               'calls a replayed figure recorded:', answer['keys'])
    if name.startswith('oom') and name != 'oom-long-run':
        expect(len(answer['refusals']) > 0, name, 'has no refusal that was recorded')


def test_first_screens(browser):
    """The verdict, what to do, three figures and a picture are in the first screen, at each width; figures agree."""
    for name in SAMPLES_LOOKED_AT:
        trace = os.path.join(samples, name + '.trace.zst')
        run('report', trace, '--html', 'first.html')
        told = json.loads(run('info', trace, '--json', '-'))['recorded']['peak_reserved_bytes']
        for width, height in (1440, 900), (800, 1000), (390, 844):
            browser.open(os.path.join(folder, 'first.html'), width=width, height=height)
            expect_quiet(browser, name)
            first = browser.eval(FIRST_SCREEN)
            expect(0 < first['verdict'] < first['figures'] < first['picture'] <= height, name, width, first)
            expect(first['acts'] == 1 and first['isFolded'] and first['drawn'], name, width, first)
        expect_agreeing(browser, name, told)


KEYS = """[...document.querySelectorAll('#picture-keys .key')].filter(k => k.querySelector('i')).map(
    k => [k.querySelector('.label').textContent.trim(), getComputedStyle(k.querySelector('i')).backgroundColor,
          k.textContent])"""


def test_kinds(browser):
    """A kind has its colour and its key on each page where it can be seen, also if nothing of it is live when the
    figures are taken; the answer says what the setting gives, and names what is to be typed as such."""
    colors = {}
    for name in 'oom-fragmented', 'oom-leak', 'oom-others', 'gpt-bf16':
        run('report', os.path.join(samples, name + '.trace.zst'), '--html', 'kinds.html')
        browser.open(os.path.join(folder, 'kinds.html'))
        keys = browser.eval(KEYS)
        for label, color, _ in keys:
            kind = label.split(' (')[0]
            expect(colors.setdefault(kind, color) == color, name, kind, 'is', color, 'elsewhere', colors[kind])
        kinds = [label.split(' (')[0] for label, _, _ in keys]
        expect(len(set(kinds)) == len(kinds), name, 'has a kind twice', kinds)
        expect({'parameters', 'optimizer state', 'gradients', 'activations'} <= set(kinds), name, 'has the keys', kinds)
        if name == 'oom-fragmented':
            expect(any(text.split()[:2] == ['gradients', 'none'] for _, _, text in keys), name, keys)
            told = browser.eval("document.getElementById('answer').textContent")
            expect('With this setting the refused request is served' in told, name, 'promises', told)
        if name == 'gpt-bf16':
            typed = browser.eval("[...document.querySelectorAll('#answer code')].map(c => c.textContent)")
            expect(typed == ['replay tune'], name, 'has to be typed', typed)
    expect(len(set(colors.values())) == len(colors), 'two kinds have one colour:', colors)


def test_gain(browser):
    """What the picture recommends has a line to paste, also where nothing was refused; what no program ran is called
    replayed, and nothing is told of it as seen."""
    run('report', os.path.join(samples, '530-270.trace.zst'), '--html', 'gain.html')
    browser.open(os.path.join(folder, 'gain.html'))
    answer = text_of(browser, 'answer')
    keys = text_of(browser, 'picture-keys')
    expect('PyTorch would reserve 2120 MiB' in answer, 'a made trace says', answer)
    expect('To take 1340 MiB at most, set this' in answer and 'expandable_segments:True' in answer, answer)
    expect('in the replay' in keys and 'recommended (expandable_segments:True)' in keys, keys)
    expect('as it ran' not in keys, keys)


Y_RANGE = """(() => {
    const { view, chart } = window.replayPage;
    return [chart.graph.yAxisRange(), view.from, view.to];
})()"""


def drag(browser, x, y, to_x, to_y):
    """A drag of the left button."""
    steps = [('mouseMoved', x, y), ('mousePressed', x, y), ('mouseMoved', (x + to_x) / 2, (y + to_y) / 2),
             ('mouseMoved', to_x, to_y), ('mouseReleased', to_x, to_y)]
    for kind, at_x, at_y in steps:
        browser.call('Input.dispatchMouseEvent', type=kind, x=at_x, y=at_y, button='left', clickCount=1)
    browser.eval(FRAMES)


def test_zoom(browser):
    """A drag in any direction zooms along the time alone, and All shows everything again."""
    browser.open(os.path.join(folder, 'run.html'), width=1280)
    browser.eval("document.getElementById('timeline').scrollIntoView({ block: 'center' })")
    x, y, w, h = browser.eval("""(() => { const b = document.getElementById('timeline').getBoundingClientRect();
        return [b.left, b.top, b.width, b.height] })()""")
    height, *window = browser.eval(Y_RANGE)
    for to_x, to_y in (0.31, 0.8), (0.7, 0.6):
        drag(browser, x + w * 0.3, y + h * 0.2, x + w * to_x, y + h * to_y)
        zoomed, *_ = browser.eval(Y_RANGE)
        expect(zoomed == height, 'a drag makes the height', zoomed, 'of', height)
    expect(browser.eval(Y_RANGE)[1:] != window, 'a drag along the time does not zoom')
    browser.eval("document.getElementById('zoom-all').click()")
    browser.eval(FRAMES)
    expect(browser.eval(Y_RANGE) == [height] + window, 'All shows', browser.eval(Y_RANGE))


TIP = "document.getElementById('tip').innerText"
PLACES = """['timeline', 'requests', 'map-a'].map(id => document.getElementById(id).getBoundingClientRect()).map(
    b => [b.left, b.top, b.right, b.bottom])"""


def test_one_view(browser):
    """Chart and maps are in one view of a laptop's screen, and the pointer says what it is at: a request, a hole."""
    run('report', os.path.join(samples, 'oom-fragmented.trace.zst'), '--html', 'view.html')
    browser.open(os.path.join(folder, 'view.html'), width=1440, height=900)
    browser.eval("document.getElementById('detail').scrollIntoView(); 0")
    chart, stack, (left, top, right, bottom) = browser.eval(PLACES)
    expect(0 <= min(chart[1], top) and max(stack[3], bottom) <= 900 and chart[2] <= left, 'one view:', chart, stack,
           top)
    said = []
    for k in range(60):
        browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=left + (right - left) * (k % 10 + 0.5) / 10,
                     y=top + 8 + 16 * (k // 10))
        said.append(browser.eval(TIP))
    expect(any('hole' in s and 'last used by' in s and 'in a segment of' in s for s in said), 'no hole in', said)
    expect(any(s.startswith('2 MiB') or 'forward' in s for s in said), 'no request in', said)


# The window of time, its length, the cursor, and where the maps begin.
PLACE = """(() => {
    const { view } = window.replayPage;
    return { from: view.from, span: view.to - view.from, at: view.at, zoom: view.zoom, top: view.top };
})()"""


def fingers(browser, *moves):
    """Touches that move; each of `moves` is a list of places."""
    for i, places in enumerate(moves):
        browser.call('Input.dispatchTouchEvent', type='touchStart' if i == 0 else 'touchMove',
                     touchPoints=[{'x': x, 'y': y, 'id': k} for k, (x, y) in enumerate(places)])
    browser.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    browser.eval(FRAMES)
    return browser.eval(PLACE)


def middle_of(browser, name):
    browser.eval("document.getElementById('%s').scrollIntoView({ block: 'center' })" % name)
    return browser.eval("""(() => { const b = document.getElementById('%s').getBoundingClientRect();
        return [b.left + b.width / 2, b.top + b.height / 2] })()""" % name)


def test_fingers(browser):
    """Two fingers zoom charts and maps; one slides along the time, or scrolls the page and moves nothing."""
    browser.open(os.path.join(folder, 'view.html'), width=PHONE, height=844)
    browser.call('Emulation.setTouchEmulationEnabled', enabled=True)
    whole = browser.eval(PLACE)
    for name in 'timeline', 'requests':
        x, y = middle_of(browser, name)
        scrolled = browser.eval('scrollY')
        place = fingers(browser, *[[(x, y - 10 * k)] for k in range(12)])
        expect(place == whole, 'one finger up on', name, 'leads to', place, 'from', whole)
        browser.eval(FRAMES)
        expect(browser.eval('scrollY') > scrolled, 'one finger on', name, 'does not scroll the page')
        x, y = middle_of(browser, name)
        place = fingers(browser, *[[(x - 20 - 8 * k, y), (x + 20 + 8 * k, y)] for k in range(8)])
        expect(place['span'] < 0.5 * whole['span'] and place['at'] == whole['at'], 'two fingers on', name, place)
        moved = fingers(browser, *[[(x + 10 * k, y)] for k in range(8)])
        expect((moved['from'] < place['from']) if name == 'timeline' else moved['at'] != place['at'],
               'one finger along', name, moved)
        show(browser, **{'from': 0, 'to': whole['span'], 'at': whole['at']})
    x, y = middle_of(browser, 'map-a')
    place = fingers(browser, *[[(x - 20 - 8 * k, y), (x + 20 + 8 * k, y)] for k in range(8)])
    expect(place['zoom'] > 1.5, 'two fingers on a map', place)
    browser.call('Emulation.setTouchEmulationEnabled', enabled=False)


def test_overview(browser):
    """The strip shows the window; a drag beside it chooses another, a drag of it moves it."""
    browser.open(os.path.join(folder, 'view.html'), width=1280)
    x, y = middle_of(browser, 'overview')
    whole = browser.eval(PLACE)
    drag(browser, x, y, x + 60, y)
    chosen = browser.eval(PLACE)
    expect(0 < chosen['span'] < whole['span'] / 2 and chosen['from'] > whole['span'] / 3, 'a drag chooses', chosen)
    drag(browser, x + 30, y, x + 70, y)
    moved = browser.eval(PLACE)
    expect(moved['from'] > chosen['from'] and abs(moved['span'] - chosen['span']) < 1e-6, 'a drag moves to', moved)


ICICLE = """[...document.querySelectorAll('#icicle .box')].map(b => b.getAttribute('aria-label'))"""


def test_icicle(browser):
    """A box is entered and left, by its button; turned over, the lines that asked are on top, as in the table."""
    browser.open(os.path.join(folder, 'four.html'))
    before = browser.eval(ICICLE)
    browser.eval("document.querySelectorAll('#icicle .box')[1].click(); 0")
    browser.eval('new Promise(done => setTimeout(done, 200))')
    inside = browser.eval(ICICLE)
    expect(0 < len(inside) < len(before) and all(box in before for box in inside), 'entered are', inside)
    expect(before[1] in text_of(browser, 'holder-says'), 'it says', text_of(browser, 'holder-says'))
    fragment = browser.eval('new Promise(done => setTimeout(() => done(location.hash), 400))')
    browser.eval("document.querySelector('#icicle-path button').click(); 0")
    browser.eval('new Promise(done => setTimeout(done, 200))')
    expect(browser.eval(ICICLE) == before, 'All leads to', browser.eval(ICICLE))
    browser.open(os.path.join(folder, 'four.html'), fragment=fragment)
    browser.eval('new Promise(done => setTimeout(done, 200))')
    expect(browser.eval(ICICLE) == inside, 'the address leads to', browser.eval(ICICLE))
    show(browser, order='inner', inside='')
    browser.eval('new Promise(done => setTimeout(done, 200))')
    lines = browser.eval("[...document.querySelectorAll('#holders tbody tr')].map(tr => tr.textContent)")
    tops = browser.eval("[...document.querySelectorAll('#icicle .box')].filter(b => b.style.top === '0rem').map("
                        "b => b.getAttribute('aria-label').split(': ')[0])")
    expect(len(tops) > 2 and all(any(line.startswith(top) for line in lines) for top in tops), tops, 'above', lines)


def test_steps(browser):
    """The axis tells whole steps where they begin; of two recordings steps stand below each other."""
    trace = os.path.join(samples, 'gpt-bf16.trace.zst')
    run('report', trace, '--html', 'steps.html')
    whole = [int(line.split()[-1]) for line in run('info', trace).splitlines() if line.startswith('whole steps')]
    browser.open(os.path.join(folder, 'steps.html'), fragment='#axis=step')
    expect([browser.eval('window.replayPage.scene.trace.steps.length')] == [n + 1 for n in whole], whole, 'steps')
    labels = browser.eval("[...document.querySelectorAll('#timeline .dygraph-axis-label-x')].map(l => l.textContent)")
    expect(labels == [str(i + 1) for i in range(whole[0])], 'the axis says', labels)
    browser.open(os.path.join(folder, 'diff-traces.html'))
    expect('whole steps' in text_of(browser, 'sides-title'), 'sides are drawn over', text_of(browser, 'sides-title'))


SAVED = """new Promise(done => {
    URL.createObjectURL = blob => { blob.text().then(text => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        done([parsed.documentElement.nodeName, parsed.documentElement.textContent, text.length]);
    }); return '#'; };
    document.getElementById('save-svg').click();
})"""


def test_svg(browser):
    """The picture as SVG says what the picture says, and stays small."""
    browser.open(os.path.join(folder, 'view.html'))
    name, text, size = browser.eval(SAVED)
    expect(name == 'svg' and size < 400000, 'saved is', name, size)
    for part in 'Fragmented', 'expandable_segments:True', 'refused: 26.37 MiB', 'PyTorch could have 1640 MiB':
        expect(part in text, 'the SVG lacks', part, text[:500])
    keys = browser.eval("[...document.querySelectorAll('#picture-keys .key')].map(k => k.textContent.trim())")
    flat_text = ' '.join(text.split())
    expect(len(keys) > 5, 'the picture has the keys', keys)
    for key in keys:
        expect(' '.join(key.split()) in flat_text, 'the SVG lacks the key', key)


# What the page says of what is found with a text.
FIND = """(async () => {
    const find = document.getElementById('find');
    find.value = %s;
    find.dispatchEvent(new Event('input'));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))));
    return document.getElementById('find-says').textContent;
})()"""


def test_search(browser):
    """What is found in a stack is lit and counted, `/` leads there, and W, A and D zoom and move along the time."""
    browser.open(os.path.join(folder, 'view.html'))
    browser.press('/')
    expect(browser.eval('document.activeElement.id') == 'find', '/ leads to', browser.eval('document.activeElement.id'))
    browser.eval("""(() => { const find = document.getElementById('find'); find.value = 'train_step';
        find.dispatchEvent(new Event('input')); })()""")
    browser.eval(FRAMES)
    n = browser.eval("""(() => { const { scene, framesOf } = window.replayPage, t = scene.trace;
        return [...t.stack].filter(s => framesOf(t, s).some(f => f.text.includes('train_step'))).length; })()""")
    says = text_of(browser, 'find-says')
    expect(n > 0 and says.startswith('%d requests' % n), n, 'are there but', says)
    said = {text: browser.eval(FIND % json.dumps(text)) for text in
            ('26.4 MiB', '26.37 MiB', '26.4', '27,648,000', '27648000 bytes')}
    expect(len(set(said.values())) == 1 and 'MiB live' in said['26.4'], 'a size is found as', said)
    browser.eval("document.getElementById('requests').focus(); window.replayPage.show({ at: 500 })")
    browser.eval(FRAMES)
    windows = []
    for key in 'w', 'd', 'a':
        browser.press(key)
        browser.eval(FRAMES)
        windows.append(browser.eval('[window.replayPage.view.from, window.replayPage.view.to]'))
    zoomed, moved, back = windows
    expect(moved[0] > zoomed[0] and back == zoomed, 'the keys lead to', windows)
    for fragment in '#at=0.5', '#zoom=0', '#zoom=1e300', '#color=constructor':
        browser.open(os.path.join(folder, 'view.html'), fragment=fragment)
        expect_quiet(browser, fragment)
        expect(browser.eval('!/NaN|Infinity|undefined|e-\\d/.test(document.body.innerText)'), fragment,
               'shows what is no figure')
        expect(browser.eval("document.getElementById('color').value") != '', fragment, 'empties a choice')


# The widest that stands beyond the edge, and names in a first column that run out of it.
OVER_EDGE = """[document.documentElement.scrollWidth - innerWidth, Math.max(...[...document.querySelectorAll('.scroll')]
    .map(box => box.scrollWidth - box.clientWidth)), [...document.querySelectorAll('th:first-child, td:first-child')]
    .filter(cell => cell.clientWidth > 0 && cell.scrollWidth > cell.clientWidth).map(cell => cell.textContent)]"""


def test_phone_answers(browser):
    """Where a setting is recommended a phone shows all of it: nothing goes sideways, no name runs under another."""
    for name in 'view.html', 'first.html':
        for width in 360, NARROW:
            browser.open(os.path.join(folder, name), width=width)
            page, table, names = browser.eval(OVER_EDGE)
            expect(browser.eval('innerWidth') == width and page <= 0, name, width, 'goes on for', page)
            expect(table <= 1 and names == [], name, width, 'cuts', table, names)


def test_chart_keys(browser):
    """The keys move along the time after a click on what has no focus of its own."""
    browser.open(os.path.join(folder, 'view.html'))
    for name in 'timeline', 'overview':
        before = browser.eval(PLACE)
        browser.click(*middle_of(browser, name))
        browser.eval(FRAMES)
        browser.press('w')
        browser.eval(FRAMES)
        expect(browser.eval(PLACE)['span'] < before['span'], 'W does nothing after a click on', name)


def tip_at(browser, name, share):
    """The tip at a share of an element's width, in the middle of its height."""
    x, y = middle_of(browser, name)
    width = browser.eval("document.getElementById('%s').clientWidth" % name)
    browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=x + (share - 0.5) * width, y=y)
    return browser.eval('document.getElementById("tip").hidden ? "" : document.getElementById("tip").innerText')


def test_tips(browser):
    """The pointer on each chart over time says the moment, what is live and what each run reserves."""
    browser.open(os.path.join(folder, 'view.html'), width=1440)
    for name in 'timeline', 'overview':
        tip = tip_at(browser, name, 0.6)
        expect(tip.count('MiB') >= 3 and ' live' in tip and 'reserved: best-fit (as it ran)' in tip and
               'expandable_segments:True (recommended)' in tip and 'max_split' not in tip, name, 'says', tip)
    browser.open(os.path.join(folder, 'diff-traces.html'), width=1440)
    tip = tip_at(browser, 'sides-chart', 0.6)
    expect(all(part in tip for part in ('whole steps', 'A: live', 'B: live', 'A: reserved', 'B: reserved')), tip)


# Where the chosen request lies in what each map shows: lines from its first one; and how many lines there are.
CHOSEN_LINES = """(() => {
    const { scene, view } = window.replayPage, i = view.request, lines = 26;
    const extent = Math.max(...[view.a, view.b].map(row => scene.runs.get(row).extent));
    return [[view.a, view.top], [view.b, view.topB]].map(([row, top]) => {
        const run = scene.runs.get(row), at = run.addr[i];
        const piece = run.pieces.find(m => m.born <= view.at && view.at < m.ended && m.addr <= at && at < m.addr +
            m.bytes);
        return (piece.place + at - piece.addr - top) / (extent / lines / view.zoom);
    });
})()"""
# A byte of map A that is in a hole, as a place on the screen.
HOLE_AT = """(() => {
    const { scene, view, holesAt } = window.replayPage, run = scene.runs.get(view.a);
    const extent = Math.max(...[view.a, view.b].map(row => scene.runs.get(row).extent)), line = extent / 26 / view.zoom;
    const box = document.getElementById('map-a').getBoundingClientRect();
    const hole = holesAt(run, scene.trace, view.at).sort((a, b) => b.bytes - a.bytes)[0];
    const at = hole.piece.place + hole.addr - hole.piece.addr + hole.bytes / 2 - view.top;
    return [box.left + (at / line % 1) * box.width, box.top + Math.floor(at / line) * 16 + 6];
})()"""


def test_maps_of_a_choice(browser):
    """Nearer, each map goes to where the chosen request lies in it; a look at a hole keeps the choice."""
    browser.open(os.path.join(folder, 'view.html'), width=1440)
    chosen = browser.eval("""(() => { const { scene, view, heldAt } = window.replayPage, t = scene.trace;
        return heldAt(t, view.at).filter(i => t.bytes[i] > 1e6 && [view.a, view.b].every(
            row => scene.runs.get(row).addr[i] > 0)).filter((_, k) => k % 12 === 0); })()""")
    for i in chosen:
        show(browser, request=i, zoom=1, top=0, topB=0)
        browser.eval("for (let k = 0; k < 5; k++) document.getElementById('map-in').click(); 0")
        browser.eval(FRAMES)
        lines = browser.eval(CHOSEN_LINES)
        expect(all(-0.5 <= line < 26 for line in lines), 'request', i, 'is at the lines', lines)
    show(browser, request=chosen[0], zoom=1, top=0, topB=0)
    middle_of(browser, 'map-a')
    browser.click(*browser.eval(HOLE_AT))
    browser.eval(FRAMES)
    expect('hole' in browser.eval(TIP), 'the hole is said to be', browser.eval(TIP))
    expect(browser.eval('window.replayPage.view.request') == chosen[0], 'a click on a hole drops the choice')


# A place on the screen in a segment of map A that the program gives back later, the moment when, and its bytes.
GIVEN_BACK = """(() => {
    const { scene, view } = window.replayPage, run = scene.runs.get(view.a), { flushes } = scene.trace;
    const extent = Math.max(...[view.a, view.b].map(row => scene.runs.get(row).extent)), line = extent / 26 / view.zoom;
    const box = document.getElementById('map-a').getBoundingClientRect();
    const piece = run.pieces.filter(m => m.born > 0 && m.born <= view.at && view.at < m.ended && flushes.includes(
        m.ended)).sort((a, b) => b.bytes - a.bytes)[0], at = piece.place + piece.bytes / 2 - view.top;
    return [box.left + (at / line % 1) * box.width, box.top + Math.floor(at / line) * 16 + 6, piece.ended, piece.bytes];
})()"""


def test_segments(browser):
    """A segment says for whom it was made and who gave it back, also when it is gone; a free says its line if that was
    recorded."""
    run('report', os.path.join(samples, 'gpt-eval-emptycache.trace.zst'), '--html', 'flushed.html')
    browser.open(os.path.join(folder, 'flushed.html'), width=1440)
    show(browser, at=browser.eval('window.replayPage.scene.trace.flushes[0]') - 1)
    middle_of(browser, 'map-a')
    x, y, ended, size = browser.eval(GIVEN_BACK)
    for moment, first in (ended - 1, ''), (ended, 'not reserved'):
        show(browser, at=moment)
        browser.eval(FRAMES)
        browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=x + 1, y=y)
        browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        tip = browser.eval(TIP)
        expect(tip.startswith(first) and 'made at record' in tip and ' for train.py:' in tip and
               'in a segment of %d MiB' % (size >> 20) in tip and 'by the program (empty_cache' in tip, moment, tip)
    by = browser.eval("""(() => { const { scene } = window.replayPage, t = scene.trace;
        return [t.freer.some(s => s > 0), t.freer.length]; })()""")
    expect(by[0], 'no stack of a free is known, though the sample has them')


# Of the dashed lines of the chart: how many pixels of a level stretch have the line's colour, and how many do not.
DASHES = """(() => {
    const { chart, scene, view } = window.replayPage, canvas = document.querySelector('#timeline canvas');
    const g = chart.graph, run = scene.runs.get(view.b), at = 1000, dense = canvas.width / canvas.clientWidth;
    const y = Math.round(g.toDomYCoord(window.replayPage.says.reserved(run, at) / chart.unit.bytes) * dense);
    const x = Math.round(g.toDomXCoord(at) * dense);
    const row = canvas.getContext('2d').getImageData(x, y, 60, 1).data, want = [0x6a, 0x1f, 0xb0];
    let lit = 0;
    for (let i = 0; i < row.length; i += 4)
        lit += want.every((v, k) => Math.abs(row[i + k] - v) < 30);
    return [lit, 60];
})()"""


def test_lines_told_apart(browser):
    """The dashes of a line are seen where it is level, as its key has them."""
    browser.open(os.path.join(folder, 'view.html'), width=1440)
    lit, of = browser.eval(DASHES)
    expect(of * 0.3 < lit < of * 0.9, 'of', of, 'pixels of a dashed line', lit, 'are drawn')


# What a person sorted, filtered, unfolded or opened on a page of two traces.
LOOK = """[document.querySelector('#settings tbody').textContent, document.getElementById('matrix-says').textContent,
    document.querySelector('#rows table').className, document.getElementById('columns-part').open,
    document.getElementById('by-line').open, document.getElementById('grid-text').value]"""


def test_link_of_a_look(browser):
    """A copied link holds how tables are sorted, the grid's filter, columns and open parts."""
    browser.open(os.path.join(folder, 'two.html'), width=1440)
    before = browser.eval(LOOK)
    browser.eval("""(() => {
        const heading = document.querySelectorAll('#settings th button')[8];
        const text = document.getElementById('grid-text');
        heading.click();
        heading.click();
        document.getElementById('more-columns').click();
        document.getElementById('columns-part').open = true;
        document.getElementById('by-line').open = false;
        text.value = '1640';
        text.dispatchEvent(new Event('input'));
    })()""")
    browser.eval('new Promise(done => setTimeout(done, 500))')
    look, address = browser.eval(LOOK), browser.eval('location.hash')
    expect(all(a != b for a, b in zip(before, look)), 'of', before, 'stays', look)
    browser.open(os.path.join(folder, 'two.html'), width=1440, fragment=address)
    expect(browser.eval(LOOK) == look, 'of', look, 'the link', address, 'brings back', browser.eval(LOOK))


def test_ranks(browser):
    """A page of a job's ranks says which is the worst and how far they lie apart, and opens on the worst."""
    run('report', os.path.join(samples, '..', 'tests', 'data', 'ranks'), '--html', 'ranks.html')
    browser.open(os.path.join(folder, 'ranks.html'), width=1440)
    verdict = browser.eval("document.querySelector('.verdict').textContent")
    expect(verdict.startswith('The worst is rank 0: 168 MiB reserved under best-fit. The 4 ranks lie 80 MiB apart'),
           verdict)
    picked = browser.eval("document.querySelector('#pick-case select').selectedOptions[0].textContent")
    expect(picked.startswith('rank 0'), 'the page opens on', picked)
    rows = browser.eval("[...document.querySelectorAll('#matrix tbody th')].map(th => th.textContent)")
    expect(sorted(rows) == ['rank 0', 'rank 1', 'rank 2', 'rank 3'], rows)
    told = subprocess.run([replay, os.path.join(samples, '..', 'tests', 'data', 'ranks')], capture_output=True,
                          text=True, check=True).stdout.split('Lines that make the difference')[1].split('\n\n')[0]
    lines = browser.eval("[...document.querySelectorAll('#ranks tbody tr')].map(tr => [...tr.children].map("
                         "td => td.textContent))")
    expect(len(lines) > 0 and len(lines) == sum(1 for line in told.split('\n') if ' MiB' in line), lines, told)
    for line in lines:
        same = [row for row in told.split('\n') if line[0] in row]
        expect(len(same) == 1 and line[1] in same[0] and line[2] in same[0], line, 'is not in', told)


# Clicks the first cell of each row of the grid: runs A and B of what is shown then, and how many runs are drawn.
FIRST_CELLS = """(async () => {
    const { view, scene } = window.replayPage, pairs = [];
    for (const row of [...document.querySelectorAll('#matrix tbody tr')].slice(0, 8)) {
        row.querySelector('button').click();
        await new Promise(done => setTimeout(done, 200));
        pairs.push([view.a, view.b, scene.runs.size]);
    }
    return pairs;
})()"""


def test_cells(browser):
    """A cell of the grid lays its run beside another one, also that of the run which would be run B."""
    browser.open(os.path.join(folder, 'many.html'))
    pairs = browser.eval(FIRST_CELLS)
    expect(any(n > 1 for _, _, n in pairs) and all(a != b for a, b, n in pairs if n > 1), 'cells show', pairs)


def test_nothing_there(browser):
    """A page that is not there is not waited for."""
    try:
        browser.open(os.path.join(folder, 'none.html'))
        expect(False, 'a missing page opens')
    except RuntimeError:
        pass


def test_long(browser):
    """Many more events than a page has points: no peak is lost, and the page stays small."""
    run('generate', 'mix:300', '--events', '60000', '-o', 'long.trace')
    run('long.trace', '--policy', 'best-fit', '--policy', 'pow2', '--device', 'sim:80GiB', '--json', 'long.json')
    run('report', 'long.json', '--html', 'long.html')
    with open(os.path.join(folder, 'long.json'), encoding='utf-8') as f:
        runs = {r['policy']: flat(r) for r in json.load(f)['runs']}
    browser.open(os.path.join(folder, 'long.html'))
    expect_quiet(browser, 'the page of a long trace')
    expect_course(browser, runs, runs)
    expect(browser.eval(PAGE_DATA + '.runs[0].events_each') >= 64, 'not every event can be drawn')
    expect(os.path.getsize(os.path.join(folder, 'long.html')) < 3000000, 'the page of a long trace is too large')


LIBRARY = "document.getElementById('library').textContent.length"


def test_size(browser):
    """A recording under four policies takes 120 KB beside dygraphs:
    one of twice the requests then stays below 160 KB."""
    run('report', os.path.join(samples, 'gpt-varlen-expand.trace.zst'), '--html', 'four.html')
    browser.open(os.path.join(folder, 'four.html'))
    expect_quiet(browser, 'the page of four policies')
    size = os.path.getsize(os.path.join(folder, 'four.html')) - browser.eval(LIBRARY)
    expect(browser.eval('window.replayPage.scene.runs.size') == 4 and size < 120000, 'four policies take', size)


def expect_files(runs):
    """CSV and Markdown of the same report."""
    with open(os.path.join(folder, 'run.csv'), encoding='utf-8', newline='') as f:
        for row in csv.DictReader(f):
            for name, value in row.items():
                stored = runs[row['policy']].get(name)
                if stored is not None:
                    text = '%.6g' % stored if isinstance(stored, float) else str(stored)
                    expect(value == text, name, value, stored)
    with open(os.path.join(folder, 'run.md'), encoding='utf-8') as f:
        cells = {c[1].strip(' `'): c for c in (line.split('|') for line in f if line.startswith('| `'))}
    for policy, r in runs.items():
        shown = [c.strip() for c in cells[policy]]
        for name in ('peak_requested_bytes', 'peak_reserved_bytes', 'fragmentation_internal_bytes',
                     'fragmentation_external_bytes', 'fragmentation_inactive_split_bytes'):
            expect('%.1f' % (r[name] / MIB) in shown, policy, name, 'is not in', shown)
        expect(f"{r['device_calls']:,}" in shown, policy, 'calls in', shown)


def test_widths(browser):
    for dark in False, True:
        for width in NARROW, PHONE, 1280:
            browser.open(os.path.join(folder, 'run.html'), width=width, dark=dark)
            expect_quiet(browser, 'at %d' % width)
            wide = browser.eval('document.documentElement.scrollWidth')
            expect(wide <= width, 'at', width, 'the page is', wide, 'wide')
            back = browser.eval("getComputedStyle(document.body).backgroundColor")
            expect((back == 'rgb(255, 255, 255)') != dark, 'dark' if dark else 'light', 'is', back)


# Of each table that is shown: its id, how many columns lie beyond its edge, what is folded, what the line below says.
FITS = """[...document.querySelectorAll('.scroll')].filter(
    b => b.clientWidth > 0 && b.querySelector('table')).map(box => {
    const heads = [...box.querySelectorAll('thead th')], edge = box.getBoundingClientRect().right + 1;
    const beyond = heads.filter(th => th.getBoundingClientRect().right > edge).length;
    return { id: box.id, beyond, folded: heads.filter(th => th.classList.contains('folded')).map(
        th => th.querySelector('button').firstChild.textContent), says: box.nextElementSibling?.textContent ?? '',
        shown: heads.filter(th => th.clientWidth > 0).map(th => th.textContent) };
})"""


def expect_fit(browser, where, kept):
    """What is folded or beyond the edge is said below the table; `kept` are the columns of a table that always show."""
    boxes = browser.eval(FITS)
    for box in boxes:
        expect(box['beyond'] == 0 or 'scroll it sideways' in box['says'], where, 'hides columns silently:', box)
        expect(not box['folded'] or 'Folded' in box['says'], where, 'folds columns silently:', box)
        for title in box['folded']:
            expect(len(title) < 3 or title in box['says'], where, 'folds', title, 'and says', box['says'])
        for title in kept.get(box['id'], ()):
            expect(any(title in t for t in box['shown']) and box['beyond'] == 0, where, 'lacks', title, box)
    expect(not [name for name in kept if name not in [box['id'] for box in boxes]], where, 'shows only', boxes)


def test_narrow_tables(browser):
    """The columns that matter stay, and a button brings the others back."""
    pages = {
        'run.html': {'ooms': ('it asked for', 'free on the card'), 'rows': ('outcome', 'driver time')},
        'many.html': {'settings': ('got through', 'mean of card / requested', 'driver time')},
        'diff-traces.html': {'difference-lines': ('at the peak, B − A',), 'difference-sizes': ('at the peak, B − A',)},
        'diff-sweeps.html': {'difference-runs': ('setting', 'outcome')},
    }
    for name, kept in pages.items():
        for width in NARROW, PHONE, 768, 1440:
            browser.open(os.path.join(folder, name), width=width)
            expect_fit(browser, '%s at %d' % (name, width), kept if width >= 768 or name == 'run.html' else {})
    browser.open(os.path.join(folder, 'run.html'), width=NARROW)
    browser.eval("document.querySelector('#ooms + .fold-note button').click()")
    ooms = next(box for box in browser.eval(FITS) if box['id'] == 'ooms')
    expect(ooms['folded'] == [] and len(ooms['shown']) == 6, 'the button brings back', ooms)
    browser.open(os.path.join(folder, 'run.html'), width=1440)
    expect(not any(box['folded'] for box in browser.eval(FITS)), 'a wide page folds columns')


def test_two_recordings(browser):
    """Each with its own card: cards are counted and named for people, and what no click opens says so."""
    run('report', *[os.path.join(samples, n + '.trace.zst') for n in ('oom-fragmented', 'gpt-varlen-default')],
        '--policy', 'best-fit', '--policy', 'pow2', '--policy', 'gc=0.8', '--policy', 'pytorch:expandable',
        '--policy', 'none', '--html', 'two.html')
    browser.open(os.path.join(folder, 'two.html'))
    heads = browser.eval("[...document.querySelectorAll('#matrix h4')].map(h => h.textContent)")
    expect(heads == ['the card of 1640 MiB', 'sim:rtx3070-8g'], 'the cards are called', heads)
    expect('cards: 2' in text_of(browser, 'what'), 'the page counts', text_of(browser, 'what'))
    browser.eval("""(() => { const text = document.getElementById('grid-text'); text.value = '1640';
        text.dispatchEvent(new Event('input')); })()""")
    browser.eval(FRAMES)
    expect(browser.eval("document.querySelectorAll('#matrix tbody tr').length") == 1, 'a card is not found by its name')
    browser.eval("""(() => { const pick = document.querySelector('#pick-case select'); pick.selectedIndex = 0;
        pick.dispatchEvent(new Event('change')); })()""")
    browser.eval('new Promise(done => setTimeout(done, 500))')
    browser.eval("""[...document.querySelectorAll('#frontier .point')].find(
        p => p.getAttribute('aria-label').startsWith('none:')).dispatchEvent(new Event('click'))""")
    expect('not among those in detail' in text_of(browser, 'frontier-says'), 'a click says',
           text_of(browser, 'frontier-says'))


# A point whose run is not run A: where it is, and the row of its run.
OTHER_POINT = """(() => {
    const { scene, view } = window.replayPage, table = JSON.parse(document.getElementById('data').textContent);
    for (const point of document.querySelectorAll('#frontier .point'))
        for (const run of scene.runs.values())
            if (run.row !== view.a && point.getAttribute('aria-label').startsWith(
                table.settings[table.rows[run.row][1]].label + ':')) {
                point.scrollIntoView({ block: 'center' });
                const box = point.getBoundingClientRect();
                return [run.row, box.x + box.width / 2, box.y + box.height / 2];
            }
})()"""
RUN_A = """[window.replayPage.view.a, document.getElementById('pick-a').value,
    document.getElementById('map-a-says').textContent]"""


def test_points_open(browser):
    """A click on a point of the frontier, or Enter, shows its run as run A."""
    browser.open(os.path.join(folder, 'four.html'))
    for act in 'click', 'Enter':
        before = browser.eval(RUN_A)
        row, x, y = browser.eval(OTHER_POINT)
        if act == 'click':
            browser.click(x, y)
        else:
            browser.eval('document.elementFromPoint(%f, %f).focus()' % (x, y))
            browser.press('Enter')
        browser.eval(FRAMES)
        run_a, picked, says = browser.eval(RUN_A)
        expect(run_a == row and picked == str(row) and says != before[2], act, 'shows', run_a, picked, says, 'not', row)
        top = browser.eval("document.getElementById('detail').getBoundingClientRect().top")
        expect(abs(top) < 100, 'after', act, 'the run is at', top)


# Elements that would move by themselves, and what moves.
MOVING = """[...document.querySelectorAll('*')].filter(e => {
    const style = getComputedStyle(e);
    return style.animationName !== 'none' || !/^(0s,? ?)+$/.test(style.transitionDuration) ||
        style.scrollBehavior !== 'auto';
}).map(e => e.tagName + '#' + e.id).concat(document.getAnimations().map(a => a.id || 'an animation'))"""


def test_no_motion(browser):
    """Who wants no motion gets none: views change from one frame to the next."""
    browser.open(os.path.join(folder, 'four.html'), prefers_reduced_motion='reduce')
    expect(browser.eval("matchMedia('(prefers-reduced-motion: reduce)').matches"), 'reduced motion is not emulated')
    for act in ('0', "document.getElementById('zoom-in').click()", "document.getElementById('map-in').click()",
                "document.querySelector('#frontier .point').dispatchEvent(new Event('click'))",
                "document.getElementById('more-columns').click()"):
        browser.eval(act + '; 0')
        browser.eval(FRAMES)
        first = browser.eval('[scrollY, window.replayPage.view.from, document.getElementById("timeline").clientWidth]')
        expect(browser.eval(MOVING) == [], 'after', act, 'move:', browser.eval(MOVING))
        browser.eval('new Promise(done => setTimeout(done, 300))')
        last = browser.eval('[scrollY, window.replayPage.view.from, document.getElementById("timeline").clientWidth]')
        expect(first == last, 'after', act, 'the page goes on moving:', first, last)
    # The test sees what moves.
    browser.eval("document.body.append(Object.assign(document.createElement('style'), { textContent: "
                 "'#at { transition: opacity 1s !important }' })); 0")
    expect(browser.eval(MOVING) == ['INPUT#at'], 'a moving slider is seen as', browser.eval(MOVING))


FOCUSED = """(() => {
    const e = document.activeElement, style = getComputedStyle(e);
    return [e.id || e.closest('[id]')?.id || e.tagName, style.outlineStyle !== 'none' || e.matches('.point')];
})()"""


def test_keys_alone(browser):
    """Tab leads to the cursor, the selection, both maps and the frontier, and is seen there; arrows move them."""
    browser.open(os.path.join(folder, 'run.html'))
    moved, seen = {}, []
    state = {'at': 'window.replayPage.view.at', 'requests': 'window.replayPage.view.at',
             'map-a': 'window.replayPage.view.request', 'map-b': 'window.replayPage.view.request'}
    for _ in range(250):
        browser.press('Tab')
        name, is_seen = browser.eval(FOCUSED)
        if name == 'BODY':
            break
        seen.append(name)
        expect(is_seen, 'nobody sees that', name, 'has the focus')
        if name in state and name not in moved:
            before = browser.eval(state[name])
            browser.press('ArrowLeft' if name in ('at', 'requests') else 'ArrowRight')
            browser.eval(FRAMES)
            moved[name] = browser.eval(state[name]) != before
    expect(moved == dict.fromkeys(state, True), 'keys move', moved, 'Tab leads to', seen)
    for name in 'rows', 'groups', 'pick-a', 'pick-b', 'hold', 'frontier', 'icicle':
        expect(name in seen, 'Tab does not lead to', name, 'but to', seen)


PAPER = """[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).width,
    document.querySelector('#timeline canvas').clientWidth, document.getElementById('requests').clientWidth]"""


def test_paper(browser):
    """A dark and wide page is printed light, and what a script has drawn is as wide as the paper."""
    browser.open(os.path.join(folder, 'run.html'), width=1440, dark=True)
    screen = browser.eval(PAPER)
    browser.eval("window.dispatchEvent(new Event('beforeprint'))")
    back, _, chart, stack = browser.eval(PAPER)
    expect(back == 'rgb(255, 255, 255)' and max(chart, stack) <= 44 * 16, 'paper is', back, chart, stack)
    browser.eval("window.dispatchEvent(new Event('afterprint'))")
    expect(browser.eval(PAPER) == screen, 'after printing the screen is', browser.eval(PAPER), 'not', screen)


# Each part would leave this mark on the page if it became markup.
MARK = "document.documentElement.dataset.taken=1"
EVIL = "<script>%s</script></script><img src=x onerror=%s><!--<b>" % (MARK, MARK)


def evil_snapshot(path):
    def event(action, addr, size, time_us):
        return {'action': action, 'addr': addr, 'size': size, 'stream': 0, 'time_us': time_us,
                'frames': [{'filename': EVIL, 'name': EVIL, 'line': 7}]}
    base = 0x7f0000000000
    trace = [event('segment_alloc', base, 2 * MIB, 1), event('alloc', base, 1024, 2),
             event('alloc', base + 1024, 512, 3),
             event('free_requested', base, 1024, 4), event('free_completed', base, 1024, 5)]
    with open(path, 'wb') as f:
        pickle.dump({'segments': [], 'device_traces': [trace]}, f)


def expect_untaken(browser, what):
    expect_quiet(browser, what)
    expect(browser.eval("document.documentElement.dataset.taken") is None, what, 'runs a script that a trace names')
    expect(browser.eval("document.querySelectorAll('img, iframe, :not(.stack > li) > b').length") == 0, what,
           'has markup of a trace')
    expect(browser.eval("document.scripts.length") == 6, what, 'has scripts of a trace')


def test_markup(browser):
    name = EVIL.replace('/', '') + '.pickle'
    evil_snapshot(os.path.join(folder, name))
    run('report', name, '--policy', 'best-fit', '--html', 'evil.html', '--md', 'evil.md')
    browser.open(os.path.join(folder, 'evil.html'))
    expect_untaken(browser, 'a trace of script tags')
    expect(name in browser.eval("document.getElementById('what').textContent"), 'its path is not shown as text')
    show(browser, request=0)
    says = text_of(browser, 'selection')
    expect(EVIL in says, 'its stack is not shown as text:', says)
    for name in 'groups', 'icicle', 'holders':
        expect('<script>' in text_of(browser, name), name, 'does not show the line as text')
    with open(os.path.join(folder, 'evil.md'), encoding='utf-8') as f:
        outside_code = ''.join(f.read().split('`')[::2])
    expect('<script' not in outside_code and '<img' not in outside_code, 'Markdown has its markup')
    with open(os.path.join(folder, 'run.json'), encoding='utf-8') as f:
        results = json.load(f)
    for r in results['runs']:
        r['policy'] = r['name'] = r['device'] = EVIL + r['policy']
        r['assumptions'] = r['warnings'] = [EVIL, '\u2028\u2029']
    results['trace']['path'] = results['trace']['source'] = EVIL
    with open(os.path.join(folder, 'evil.json'), 'w', encoding='utf-8') as f:
        json.dump(results, f)
    run('report', 'evil.json', '--html', 'evil2.html')
    browser.open(os.path.join(folder, 'evil2.html'))
    expect_untaken(browser, 'a JSON of script tags')
    expect(EVIL in browser.eval("document.querySelector('#rows tbody').textContent"), 'its policy is not shown as text')


def expect_differing_first(browser):
    """Of each card, cases whose outcome differs stand above the others; the filter leaves only these."""
    marks = browser.eval("""[...document.querySelectorAll('#matrix table')].map(
        t => [...t.querySelectorAll('tbody tr')].map(tr => tr.querySelector('.tag') !== null))""")
    expect(any(any(m) for m in marks) and all(m == sorted(m, reverse=True) for m in marks), 'differing rows:', marks)
    n = sum(sum(m) for m in marks)
    browser.eval("""(() => { const pick = document.getElementById('grid-filter'); pick.value = 'differs';
        pick.dispatchEvent(new Event('change')); })()""")
    browser.eval(FRAMES)
    expect(browser.eval("document.querySelectorAll('#matrix tbody tr').length") == n, 'the filter leaves others')


def test_many(browser):
    run('sweep', samples, '--policy', 'pytorch:max-split={none,32}MiB,gc={off,0.8}', '--policy', 'none', '--policy',
        'pow2', '--device', 'sim:{300MiB,1GiB}', '-o', 'many.db')
    run('report', 'many.db', '--html', 'many.html', '--csv', 'many.csv')
    with open(os.path.join(folder, 'many.csv'), encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    browser.open(os.path.join(folder, 'many.html'))
    expect_quiet(browser, 'a page of many traces')
    expect(os.path.getsize(os.path.join(folder, 'many.html')) < 2000000, 'the page is too large')
    sizes = browser.eval("""(() => { const head = document.querySelector('.verdict'), size = at => parseFloat(
        getComputedStyle(at).fontSize); return [head, ...head.children].map(size).concat(
            head.firstChild.textContent.length); })()""")
    expect(sizes[0] > sizes[1] > sizes[2] and sizes[3] < 80, 'more than one clause of the head is large:', sizes)
    browser.eval("for (let more; (more = document.querySelector('#matrix p button'));) more.click(); 0")
    cells = browser.eval("""[...document.querySelectorAll('#matrix td')].map(
        td => [td.textContent, Number(td.dataset.settings)])""")
    shown = [text for text, n in cells for _ in range(n)]
    expect(shown.count('OOM') == sum(r['outcome'] == 'oom' for r in rows), 'OOMs in the matrix:', shown.count('OOM'))
    expect(len(shown) == len(rows), 'cells of the matrix:', len(shown), 'of', len(rows))
    ratios = [int(r['card_peak_bytes']) / int(r['trace_peak_requested_bytes']) for r in rows if r['outcome'] == 'ok']
    shares = sorted(('%.2f' if ratio < 9.995 else '%.0f') % ratio for ratio in ratios)
    off = [s for s in sorted(s for s in shown if s != 'OOM') if s not in shares]
    expect(len(off) <= len(rows) // 100, 'shares of the matrix that are none:', off)
    expect_differing_first(browser)
    browser.eval("document.querySelectorAll('#matrix tbody button')[3].click()")
    browser.eval(FRAMES)
    label = browser.eval("document.querySelector('#pick-case select').selectedOptions[0].textContent").split(': ', 1)[1]
    here = [r for r in rows if ('%s on %s' % (r['trace_path'], r['device_typed'])).endswith('/' + label)]
    values = browser.eval("[...document.querySelectorAll('#rows td[data-column=peak_reserved_bytes]')].map("
                          "td => td.dataset.value)")
    expect(sorted(values) == sorted(r['peak_reserved_bytes'] for r in here), 'runs of', label, values)


# Cells of two cases, each clicked while the other is loaded and a view waits to be drawn; whether what is shown is of
# one case in the end.
HURRY = """(async () => {
    const { view, scene } = window.replayPage, rows = JSON.parse(document.getElementById('data').textContent).rows;
    const cells = [...document.querySelectorAll('#matrix td button')];
    window.replayPage.show({ hold: view.hold === 'peak' ? 'at' : 'peak' });
    requestAnimationFrame(() => [cells[0], cells.at(-1), cells[0], cells.at(-1)].forEach(cell => cell.click()));
    const isOne = () => [...scene.runs.keys()].every(row => rows[row][0] === view.case);
    for (let i = 0; i < 100 && (i < 10 || !isOne()); i++)
        await new Promise(done => setTimeout(done, 50));
    return isOne();
})()"""


def test_hurry(browser):
    """A case that is chosen while another is loaded comes after it: the page shows one of them, and no script fails."""
    browser.open(os.path.join(folder, 'many.html'))
    expect(browser.eval(HURRY), 'runs of another case are shown')
    expect_quiet(browser, 'a page in a hurry')


# What the chosen group holds at the peak of live data, and which case is shown.
GROUP_AT_PEAK = """(() => {
    const { scene, view, heldAt } = window.replayPage, t = scene.trace;
    return [view.case, heldAt(t, view.at).filter(i => scene.groups.of[i] === view.group)
        .reduce((s, i) => s + t.bytes[i], 0)];
})()"""


def difference(browser, status, name, *arguments):
    """The page of `replay diff` and its JSON."""
    run('diff', *arguments, '--html', name + '.html', '--json', name + '.json', status=status)
    browser.open(os.path.join(folder, name + '.html'))
    expect_quiet(browser, name)
    with open(os.path.join(folder, name + '.json'), encoding='utf-8') as f:
        told = json.load(f)
    shown = browser.eval(PAGE_DATA)['difference']
    with open(os.path.join(folder, name + '.html'), encoding='utf-8') as f:
        expect(samples + '/' not in f.read(), name, 'has a folder of the machine')
    told.update({side: told[side].replace(samples + '/', '') for side in 'ab' if isinstance(told.get(side), str)})
    expect({k: v for k, v in shown.items() if k in told and k != 'runs'} ==
           {k: v for k, v in told.items() if k != 'runs'}, name, 'has other differences than the JSON')
    return told


def test_difference_of_recordings(browser):
    """A line of the table leads to the requests that it counts."""
    told = difference(browser, 1, 'diff-traces', os.path.join(samples, 'gpt-bf16.trace.zst'),
                      os.path.join(samples, 'gpt-fp32.trace.zst'))
    rows = browser.eval("[...document.querySelectorAll('#difference-lines tbody tr')].map(tr => tr.textContent)")
    expect(len(rows) == len(told['lines']), 'lines that differ:', len(rows), len(told['lines']))
    for i in 0, len(rows) - 1:
        browser.eval("document.querySelectorAll('#difference-lines tbody button')[%d].click()" % i)
        browser.eval('new Promise(done => setTimeout(done, 500))')
        browser.eval(FRAMES)
        at, held = browser.eval(GROUP_AT_PEAK)
        expect(held == told['lines'][i]['ab'[at]]['peak_bytes'], told['lines'][i], 'leads to', at, held)
    expect(browser.eval("document.querySelectorAll('#sides-chart canvas').length") > 0, 'no chart of both sides')
    difference(browser, 1, 'diff-turned', os.path.join(samples, 'gpt-fp32.trace.zst'),
               os.path.join(samples, 'gpt-bf16.trace.zst'))
    first = browser.eval("document.querySelector('#pick-case option').textContent")
    expect(first.startswith('A: gpt-fp32'), 'A is the first that was named, not', first)


def test_difference_of_policies(browser):
    told = difference(browser, 1, 'diff-policies', os.path.join(samples, 'gpt-varlen-default.trace.zst'), '--policy',
                      'best-fit', '--policy', 'pow2')
    browser.eval("document.querySelector('#difference-go button').click()")
    browser.eval(FRAMES)
    chosen = browser.eval("""(() => {
        const { scene, view } = window.replayPage, i = view.request;
        return { bytes: scene.trace.bytes[i], at: [view.a, view.b].map(row => scene.runs.get(row)).map(
            run => [run.addr[i], run.block[i]]) };
    })()""")
    first = told['first_placement']
    expect(chosen == {'bytes': first['requested_bytes'],
                      'at': [[first[s]['address'], first[s]['bytes']] for s in 'ab']},
           'the first request placed differently is', first, 'and chosen is', chosen)


def test_difference_of_sweeps(browser):
    """All runs that differ have a row; those that end in another way stand first."""
    for name, traces in ('a', ('gpt-bf16', 'cnn')), ('b', ('gpt-fp32', 'mlp-adam')):
        run('sweep', *[os.path.join(samples, t + '.trace.zst') for t in traces], '--policy', 'best-fit',
            '--policy', 'pow2', '--device', 'sim:{120MiB,1GiB}', '-o', 'sweep-%s.db' % name)
    told = difference(browser, 1, 'diff-sweeps', 'sweep-a.db', 'sweep-b.db')
    pairs = [r for r in told['runs'] if r.get('fields')]
    rows = browser.eval("""[...document.querySelectorAll('#difference-runs tbody tr')].map(
        tr => tr.children[3].textContent !== 'same')""")
    expect(len(rows) == len(pairs), 'pairs that differ:', len(rows), 'of', len(pairs))
    expect(rows == sorted(rows, reverse=True) and rows.count(True) == sum(
        any(f['name'] == 'outcome' for f in r['fields']) for r in pairs), 'other ends:', rows)
    browser.eval("document.querySelector('#difference-runs tbody button').click()")
    shown = browser.eval("document.querySelectorAll('#difference-pair tbody tr').length")
    expect(any(shown == len(r['fields']) for r in pairs), 'a pair shows', shown, 'figures')


def main():
    if not Browser.is_there():
        print('SKIP: needs a browser: chromium is not installed')
        return 77
    browser = Browser()
    try:
        for test in (test_numbers, test_first_screens, test_kinds, test_gain, test_zoom, test_one_view, test_fingers,
                     test_overview, test_svg, test_search, test_long, test_size, test_icicle, test_widths, test_paper,
                     test_markup, test_many, test_hurry,
                     test_difference_of_recordings, test_difference_of_policies, test_difference_of_sweeps,
                     test_tips, test_maps_of_a_choice, test_segments, test_lines_told_apart,
                     test_ranks, test_cells,
                     test_phone_answers, test_chart_keys, test_nothing_there,
                     test_steps, test_two_recordings, test_link_of_a_look,
                     test_narrow_tables, test_points_open, test_no_motion,
                     test_keys_alone):
            test(browser)
    finally:
        browser.close()
    return 1 if failures else 0


sys.exit(main())
