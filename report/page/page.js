/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Puts the page together: loads a case, and says which view depends on which part of the state. */

/* ---- refusals in words, and what the page rests on ---- */

function drawOoms() {
  const rows = rowsHere(), ooms = OOMS.filter(o => rows.includes(o.row));
  byId('oom-part').hidden = ooms.length === 0;
  if (ooms.length === 0)
    return;
  const bytes = (name, title, fold) => ({ name, title, fold, value: o => o[name], show: o => bytesText(o[name]) });
  table(byId('ooms'), [
    { title: 'setting', value: o => settingOf(data.rows[o.row]), show: o => breakable(settingOf(data.rows[o.row])) },
    { title: 'refused', fold: 3, value: o => cellOf(data.rows[o.row], 'oom_count'),
      show: o => grouped(cellOf(data.rows[o.row], 'oom_count')) },
    { name: 'oom_first_event', fold: 1, title: 'first at ' + wordOfEvents(), value: o => o.oom_first_event,
      show: o => o.oom_first_event < 0 ? 'the start' : grouped(o.oom_first_event) },
    bytes('oom_first_requested_bytes', 'it asked for'), bytes('oom_first_reserved_bytes', 'reserved then', 2),
    bytes('oom_first_device_free_bytes', 'free on the card'),
  ], ooms, {});
  byId('explanations').replaceChildren(...data.runs.filter(r => r.explanation && rows.includes(r.row)).map((r, i) =>
    element('details', { open: i === 0, className: 'explained' }, element('summary', { textContent: 'Why ' +
      settingOf(data.rows[r.row]) + ' ran out of memory' }), ...explanationElements(r.explanation))));
}

const FIGURE = /^ +(=?) *([\d,]+) {2,}([\d.]+ \w+) {2}(.*)$/;

/* The lines of a terminal's text: figures as a table, items as a list, sentences unwrapped. */
function explanationElements(text) {
  const parts = [];
  const into = (name, className) => {
    if (parts.at(-1)?.localName !== name)
      parts.push(element(name, { className }));
    return parts.at(-1);
  };
  for (const line of text.trim().replace(/\n {2,4}(?=[^ =])/g, ' ').split('\n').slice(1)) {
    const figure = FIGURE.exec(line);
    if (figure)
      into('table', 'figures').append(element('tr', { className: figure[1] && 'sum' },
        ...figure.slice(1).map((cell, i) =>
          element('td', { className: i === 1 ? 'exact' : '', textContent: cell }))));
    else if (line.startsWith('- '))
      into('ul').append(element('li', {}, ...typedParts(line.slice(2))));
    else
      parts.push(element('p', {}, ...typedParts(line)));
  }
  return parts;
}

/* More remarks than these are folded. */
const REMARKS_OPEN = 8;

function remarkItem(r) {
  return element('li', {}, ...typedParts((r.is_warning ? 'Warning: ' : '') + r.text + (r.runs < data.rows.length ?
    ' (' + grouped(r.runs) + ' of ' + grouped(data.rows.length) + ' runs)' : '')));
}

function drawRemarks() {
  const items = data.remarks.map(remarkItem), left = data.n_remarks - data.remarks.length;
  if (left > 0)
    items.push(element('li', { textContent: grouped(left) + ' more are in the database.' }));
  byId('remarks').replaceChildren(...items.slice(0, REMARKS_OPEN));
  if (items.length > REMARKS_OPEN)
    byId('remarks').after(element('details', {},
      element('summary', { textContent: grouped(items.length - REMARKS_OPEN) + ' more' }),
      element('ul', {}, ...items.slice(REMARKS_OPEN))));
  byId('notes').replaceChildren(...data.notes.map(text => element('li', {}, ...typedParts(text))));
  byId('basis').hidden = items.length + data.notes.length === 0;
}

/* What the columns of the table mean, for those who cannot point at a heading. */
function drawMeanings() {
  byId('meanings').replaceChildren(...data.columns.flatMap(c => [element('dt', { textContent: c.title }),
    element('dd', {}, ...typedParts(c.meaning))]));
}

function describe() {
  const t = data.cases[0], cards = new Set(data.cases.map(c => c.device));
  const counts = 'Traces: ' + grouped(data.n_traces) + ', cards: ' + grouped(cards.size) + ', settings: ' +
    grouped(data.settings.length) + ', runs: ' + grouped(data.rows.length) + '.';
  byId('what').textContent = data.n_traces > 1 ? counts : t.trace_path.replace(/^.*\//, '') + ' (' +
    t.trace_source + '): ' +
    grouped(t.trace_events) + ' events, ' + grouped(t.trace_allocs) + ' requests, ' +
    (t.trace_starts === 'empty' ? 'from the start' : 'starting in mid-run') + '.' +
    (data.rows.length > data.settings.length ? ' ' + counts : '');
}

/* ---- a case ---- */

/* The runs that are laid side by side at first: A and B of a difference; the recorded settings and what is recommended;
 * a refused one and the best; the one that takes most memory and the best; else the first two. */
function firstPair(rows) {
  if (DIFFERENCE && rows.length > 1)
    return { a: rows[0], b: rows[1] };
  const recorded = rows.find(i => i === data.answer?.of_recorded_settings);
  const refused = rows.find(i => !isOk(data.rows[i]));
  const best = (recorded !== undefined ? data.answer.recommended : undefined) ?? data.cases[view.case].best;
  const most = rows.reduce((a, b) => takenOf(data.rows[b]) > takenOf(data.rows[a]) ? b : a, rows[0]);
  const a = recorded ?? refused ?? (most !== best ? most : rows.find(i => i !== best)) ?? rows[0];
  return { a, b: rows.includes(best) && best !== a ? best : rows.find(i => i !== a) ?? -1 };
}

/* Which runs are not shown in detail, and why; `chosen`: one that is none of a page's few. */
function sayWhyNot(rows, chosen) {
  const refused = data.runs.filter(r => r.why_not && rows.includes(r.row));
  const reasons = [...new Set(refused.map(r => r.why_not))].map(why => 'Not shown: ' +
    refused.filter(r => r.why_not === why).slice(0, 3).map(r => settingOf(data.rows[r.row])).join(', ') + ', because ' +
    why + '.');
  if (scene.runs.size === 0 && refused.length === 0)
    reasons.push('No run of this trace is shown in detail.');
  else if (chosen !== undefined && !refused.some(r => r.row === chosen))
    reasons.push('Of ' + settingOf(data.rows[chosen]) + ' there are the figures above. In detail: ' +
      runsHere().map(run => settingOf(data.rows[run.row])).join(', ') + '. To draw another, run it alone: replay ' +
      'report TRACE --policy ' + settingOf(data.rows[chosen]) + '.');
  byId('why-not').textContent = reasons.join(' ');
}

/* What of a long recording is not drawn one by one. */
function sayDrawn() {
  const { n_drawn: drawn, n_requests: all } = scene.trace, cut = runsHere().filter(run => run.memory_left_out > 0);
  const parts = drawn === all ? [] : ['Of ' + grouped(all) + ' requests the ' + grouped(drawn) + ' that take most, ' +
    'by bytes times the events they live for, are drawn one by one. The others are the grey band at the bottom; ' +
    'their sum is exact at ' + grouped(scene.trace.live.length) + ' moments.'];
  if (cut.length > 0)
    parts.push('Of the memory of ' + cut.map(run => settingOf(data.rows[run.row])).join(', ') +
      ' only the largest pieces are in the map; reserved memory is exact.');
  byId('drawn-note').textContent = parts.join(' ');
  byId('drawn-note').hidden = parts.length === 0;
}

/* What waits to be drawn is of the case that is left. */
function forgetWaiting() {
  for (const timer of [holdersTimer, chart.timer, stackPlot.timer])
    clearTimeout(timer);
}

/* Unpacks the trace and the runs of the case that the view names. Until all is there the one before stays. */
async function loadCase() {
  const rows = rowsHere(), packed = rows.map(runOfRow).filter(run => run), runs = new Map();
  const trace = packed.length > 0 ? await unpackTrace(packed[0].trace) : null;
  for (const run of packed) {
    await giveWay();
    const unpacked = await unpackRun(run, trace);
    await giveWay();
    runs.set(run.row, prepareRun(unpacked));
  }
  await giveWay();
  const liveSteps = trace && liveStepsOf(trace);
  forgetWaiting();
  Object.assign(scene, { trace, runs, liveSteps, peak: trace?.live_peak_moment, recorded: trace && recordedOf(trace,
    runs) });
  if (trace) {
    byId('axis').querySelector('[value=step]').disabled = trace.steps.length < 2;
    sayDrawn();
  }
  byId('drawn').hidden = runs.size === 0;
  sayWhyNot(rows);
}

/* The bits of the runs that a chart leaves out at first: where it is known what ran, all but two. */
function firstHidden({ a, b }) {
  return data.answer?.of_recorded_settings === a ? runsHere().reduce((bits, run, i) =>
    run.row === a || run.row === b && roleOf(b) ? bits : bits | 1 << i, 0) : 0;
}

/* Where a case is first looked at: all of it, at the refusal of run A, else at the peak of what is live. */
function firstLook() {
  const pair = firstPair([...scene.runs.keys()]), run = scene.runs.get(pair.a);
  const at = run?.refusals[0]?.[0] ?? scene.peak;
  return { ...pair, from: 0, to: scene.trace.n_events, at, request: -1, group: -1,
    zoom: 1, top: 0, topB: 0, hidden: firstHidden(pair), hold: run?.refusals.length ? 'refusal' : 'peak', since: 0,
    color: scene.trace.stacks.nodes.length > 0 ? 'line' : 'size' };
}

/* Drops from the address what this page does not have. */
function possible(changes) {
  const kept = { ...changes };
  for (const key of ['a', 'b'])
    if (!scene.runs.has(kept[key]))
      delete kept[key];
  if (kept.request >= scene.trace.n)
    delete kept.request;
  for (const key of ['at', 'from', 'to', 'since'])
    if (kept[key] !== undefined)
      kept[key] = Math.min(scene.trace.n_events, Math.max(0, kept[key]));
  for (const key of ['at', 'since'])
    if (kept[key] !== undefined)
      kept[key] = Math.round(kept[key]);
  if (kept.axis === 'step' && scene.trace.steps.length < 2)
    delete kept.axis;
  if (kept.zoom !== undefined)
    kept.zoom = Math.min(MAP_ZOOM_MOST, Math.max(1, kept.zoom));
  if (kept.top !== undefined)
    kept.topB ??= kept.top;
  for (const key of ['top', 'topB'])
    if (kept[key] !== undefined)
      kept[key] = Math.min(Math.max(...runsHere().map(run => run.extent)), Math.max(0, kept[key]));
  if (!(kept.to > kept.from)) {
    delete kept.from;
    delete kept.to;
  }
  return kept;
}

let choosing = Promise.resolve();

/* One case after the other: what is chosen while one is loaded comes next. */
function chooseCase(i, wanted = {}) {
  choosing = choosing.then(() => showCase(i, wanted));
  return choosing;
}

async function showCase(i, wanted) {
  view.case = i;
  drawCase();
  await loadCase();
  if (scene.trace) {
    const look = firstLook(), kept = possible(wanted);
    if (kept.b === undefined && kept.a === look.b)
      look.b = look.a;               /* what is chosen as A leaves its place beside it to the other */
    show({ ...look, ...kept, case: i });
  }
  await drawAll();
}

/* What shows all runs of a case, not one moment of them. */
function drawCase() {
  const picker = byId('pick-case').querySelector('select');
  if (picker.options.length > 0)
    picker.selectedIndex = view.case;
  drawRows();
  drawBars();
  drawFrontier();
  drawOoms();
}

/* Shows a run in detail, as run A. */
function chooseRun(row) {
  show({ a: row, b: view.b === row ? view.a : view.b });
  byId('detail').scrollIntoView();
}

/* ---- what depends on what ---- */

function regroup() {
  scene.groups = groupsOf(scene.trace, view.color);
  if (view.color === 'find')
    sayFound();
  byId('color').value = view.color;
  [...byId('color').options].find(o => o.value === 'category').disabled = !hasCategories(scene.trace);
}

function listenToState() {
  const drawn = draw => changes => { if (scene.trace) draw(changes); };
  onView(['case', 'color', 'find'], drawn(regroup));
  const chartKeys = ['case', 'hidden', 'axis', 'a', 'b'];
  onView(chartKeys, drawn(() => {
    drawRunKeys();
    drawPickers();
    drawChart();
  }));
  onView(['from', 'to'], drawn(changes => {
    if (!chartKeys.some(key => changes.has(key)))
      moveChart();
  }));
  onView(['case', 'color', 'find', 'group', 'request'], drawn(colorRequests));
  onView(['case', 'color', 'find', 'group'], drawn(() => drawGroups()));
  onView(['case', 'color', 'find', 'group', 'request', 'from', 'to', 'hidden', 'axis'], drawn(drawRequests));
  onView(['case', 'at', 'from', 'to', 'hidden', 'axis'], drawn(drawCursor));
  onView(['case', 'from', 'to', 'hidden', 'axis'], drawn(drawOverview));
  onView(['case', 'at', 'a', 'b', 'request', 'group', 'color', 'find', 'zoom', 'top', 'topB'], drawn(drawMaps));
  onView(['case', 'request', 'group', 'a', 'b'], drawn(drawSelection));
  onView(['case', 'a', 'hold', 'since', 'at', 'color', 'find', 'inside', 'order'], drawn(holdersSoon));
  onView(['case', 'a'], drawn(drawRefusal));
  onView(['case', 'a'], drawn(drawFragmentation));
  onView(['case'], drawn(drawWaterfall));
  onView(['case'], drawn(preparePicture));
  onView(['case'], drawn(drawPicture));
  onView(['case', 'a'], drawn(drawJumps));
}

/* The ways to the parts that are there, on a page that has an answer above them. */
function drawJumps() {
  byId('jump').hidden = !data.answer;
  for (const button of byId('jump').children)
    button.hidden = byId(button.dataset.to).hidden;
}

let holdersTimer = 0;

/* Who holds it follows the cursor when the cursor rests. */
function holdersSoon(changes) {
  const isMoving = changes.size === 1 && changes.has('at');
  if (isMoving && (view.hold === 'peak' || view.hold === 'refusal'))
    return;
  clearTimeout(holdersTimer);
  holdersTimer = setTimeout(drawHolders, isMoving ? 120 : 0);
}

function listenToJumps() {
  for (const button of byId('jump').children)
    button.addEventListener('click', () => byId(button.dataset.to).scrollIntoView());
}

function listenToControls() {
  const on = (id, type, act) => byId(id).addEventListener(type, act);
  on('at', 'input', event => moveCursor(Number(event.target.value)));
  on('color', 'change', event => show({ color: event.target.value, group: -1, find: '' }));
  on('axis', 'change', event => show({ axis: event.target.value }));
  on('hold', 'change', event => show({ hold: event.target.value }));
  on('order', 'change', event => show({ order: event.target.value, inside: '' }));
  on('mark', 'click', () => show({ since: view.at, hold: 'growth' }));
  on('zoom-in', 'click', () => zoomTime(0.5));
  on('zoom-out', 'click', () => zoomTime(2));
  on('zoom-all', 'click', () => show({ from: 0, to: scene.trace.n_events }));
  on('map-in', 'click', () => zoomMap(2));
  on('map-out', 'click', () => zoomMap(0.5));
  on('map-up', 'click', () => moveMap(-MAP_LINES / 2));
  on('map-down', 'click', () => moveMap(MAP_LINES / 2));
  on('to-peak', 'click', () => moveCursor(scene.peak));
  on('fragmentation-part', 'toggle', drawFragmentation);
  on('more-columns', 'click', showAllColumns);
  on('pick-a', 'change', event => show({ a: Number(event.target.value) }));
  on('pick-b', 'change', event => show({ b: Number(event.target.value) }));
  listenToJumps();
  listenToChart();
  listenToRequests();
  listenToOverview();
  listenToMaps();
  listenToPicture();
  listenToSearch();
  listenToKeys();
}

/* The state of what has no case: of tables, the grid and folded parts. */
const PAGE_WIDE = ['filter', 'cases', ...VIEW_LISTS];

/* Folded parts open as the view says, and say it when a person opens them. */
function listenToFolds() {
  const wasOpen = new Map([...document.querySelectorAll('details[id]')].map(part => [part.id, part.open]));
  for (const id of listOf('open'))
    if (wasOpen.has(id))
      byId(id).open = !wasOpen.get(id);
  document.addEventListener('toggle', ({ target: { id, open } }) => {
    if (wasOpen.has(id))
      showInList('open', open === wasOpen.get(id) ? undefined : id, word => word === id);
  }, true);
}

/* What depends on the width or the colours. */
function drawAgain() {
  if (DIFFERENCE?.kind === 'traces')
    drawSides();
  drawBars();
  drawFrontier();
  changed = new Set(Object.keys(view));
  drawChanged();
}

function listenToWindow() {
  let timer = 0, width = window.innerWidth;
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAgain);
  window.addEventListener('resize', () => {
    if (window.innerWidth === width)
      return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(drawAgain, 150);
  });
  window.addEventListener('hashchange', () => {
    if (!location.hash.includes('='))
      return;                        /* a link to a place of this page */
    const wanted = readAddress();
    chooseCase(wanted.case in data.cases ? wanted.case : view.case, wanted);
  });
}

/* What a script has drawn does not follow the paper's width and colours by itself. */
function listenToPrinter() {
  const drawFor = isPaper => {
    document.documentElement.classList.toggle('printing', isPaper);
    drawAgain();
    if (scene.trace)
      drawHolders();
    fitAll();
  };
  window.addEventListener('beforeprint', () => drawFor(true));
  window.addEventListener('afterprint', () => drawFor(false));
}

/* The most interesting case that is shown in detail; of ranks the worst. */
function firstCase() {
  const isDetailed = new Set(data.runs.filter(r => r.placed !== undefined).map(r => data.rows[r.row][ROW.at]));
  if (data.cases.length === 1)
    return 0;
  if (isDetailed.has(data.worst_rank))
    return data.worst_rank;
  return data.cases.map((_, at) => interestOf(at)).sort(byInterest).find(one => isDetailed.has(one.at))?.at ?? 0;
}

async function start() {
  const wanted = readAddress();
  for (const key of PAGE_WIDE)
    view[key] = wanted[key] ?? view[key];
  describe();
  drawMeanings();
  drawRemarks();
  drawMany();
  drawCopies();
  drawSurvival();
  await drawDifference();
  listenToState();
  listenToControls();
  listenToWindow();
  listenToPrinter();
  listenToFolds();
  await chooseCase(wanted.case in data.cases ? wanted.case : firstCase(), wanted);
  document.documentElement.dataset.state = 'drawn';
  window.replayPage.drawnAt = performance.now();
}

/* For a person at the browser's console, and for tests: what is shown, everything unpacked, and what is drawn of it. */
Object.assign(window.replayPage, { view, scene, chart, show, memoryAt, holesAt, heldAt, framesOf, says: {
  levels: levelsHere, tip: pictureTip, reserved: reservedAt,
  live: moment => extremesOfLine(linesHere().pop(), moment, moment + 1).most,
} });

start();
