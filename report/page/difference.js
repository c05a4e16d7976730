/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What differs between A and B, on a page of `replay diff`: of two recordings live and reserved memory over events, and
 * who holds it; of runs every figure. A click leads to the run or the request in the views below.
 */

const DIFFERENCE = data.difference;  /* what `replay diff --json` writes; undefined on other pages */
const DIFFERENCE_ROWS = 60;
const SIDES = ['a', 'b'];

/* ---- values ---- */

function valueText(name, value) {
  if (value === null)
    return '–';
  if (typeof value !== 'number')
    return String(value);
  return /_bytes/.test(name) ? bytesText(value) : name.endsWith('_ns') ? timeText(value)
    : Number.isInteger(value) ? (value < 0 ? '−' : '') + grouped(Math.abs(value)) : value.toPrecision(4);
}

const signed = (text, number) => (number > 0 ? '+' : number < 0 ? '−' : '') + text;
const changeText = bytes => bytes === 0 ? 'same' : signed(bytesText(Math.abs(bytes)), bytes);

/* A change with a bar from the middle: to the right is more. */
function changeCell(change, most, text) {
  const bar = element('i');
  bar.style.width = 50 * Math.min(1, Math.abs(change) / (most || 1)) + '%';
  bar.className = change > 0 ? 'more' : 'less';
  return element('span', { className: 'change' }, text, element('span', { className: 'change-bar' }, bar));
}

/* The figures that differ, as in `fields` of the JSON. */
function fieldsTable(host, fields) {
  table(host, [
    { title: 'figure', value: f => f.name,
      show: f => f.name.replace(/_(bytes|ns)\b|_bytes(?=_)/, '').replaceAll('_', ' ') },
    { title: 'A', value: f => f.a, show: f => valueText(f.name, f.a) },
    { title: 'B', value: f => f.b, show: f => valueText(f.name, f.b) },
    { title: 'B − A', fold: 1, value: f => f.difference, show: f => f.difference === null ? null
      : signed(valueText(f.name, Math.abs(f.difference)), f.difference) },
    { title: 'change', unit: '%', value: f => f.percent, show: f => f.percent === null ? null
      : signed(Math.abs(f.percent).toFixed(1), f.percent) },
  ], fields, {});
}

function tableBox(title, id) {
  return element('div', { className: 'scroll', id, tabIndex: 0, role: 'region', ariaLabel: title });
}

/* A heading and a box for a table. */
function tablePart(title, id) {
  const host = tableBox(title, id);
  byId('difference-parts').append(element('h3', { textContent: title }), host);
  return host;
}

/* All figures that differ; folded where charts and other tables say most. */
function figuresPart(fields, isOpen) {
  const host = tableBox('Figures', 'difference-fields');
  byId('difference-parts').append(element('details', { open: isOpen },
    element('summary', { textContent: 'All figures that differ: ' + grouped(fields.length) }), host));
  fieldsTable(host, fields);
}

/* ---- two recordings ---- */

/* The moment of an event that is named by its number in the recording. */
function momentOfNumber(trace, number) {
  return trace.numbers.length > 0 ? upperBound(trace.numbers, number) : Math.min(trace.n_events, number + 1);
}

/* Goes to an event of one side, and chooses the request that it makes. */
async function goTo(at, number, changes = {}) {
  if (view.case !== at)
    await chooseCase(at);
  const moment = momentOfNumber(scene.trace, number), born = scene.trace.born;
  const i = upperBound(born, moment) - 1;
  moveCursor(moment);
  show({ request: i >= 0 && born[i] === moment ? i : -1, group: -1, ...changes });
  byId('detail').scrollIntoView();
}

/* Shows whose bytes a line holds at the peak of a side. */
async function goToLine(at, line) {
  if (view.case !== at)
    await chooseCase(at);
  show({ color: 'line', hold: 'peak', at: scene.peak, request: -1 });
  const group = groupsOf(scene.trace, 'line').groups.findIndex(g => g.name === frameText(line));
  show({ group });
  byId('detail').scrollIntoView();
}

const caseOfSide = side => Math.min(side, data.cases.length - 1);

function goButton(text, act) {
  const button = element('button', { type: 'button', className: 'plain', textContent: text });
  button.addEventListener('click', act);
  return button;
}

/* Rows of sizes or lines. `name(row)` is text or an element. */
function sharesTable(host, title, rows, name) {
  const most = Math.max(...rows.map(r => Math.abs(r.peak_difference_bytes)));
  const bytes = (heading, fold, named, value) =>
    ({ title: heading, fold, named, value, show: r => bytesText(value(r)) });
  table(host, [
    { title, value: r => rows.indexOf(r), show: name },
    { title: 'at the peak, B − A', value: r => r.peak_difference_bytes,
      show: r => changeCell(r.peak_difference_bytes, most, changeText(r.peak_difference_bytes)) },
    bytes('A', 2, 'A at the peak', r => r.a.peak_bytes), bytes('B', 1, 'B at the peak', r => r.b.peak_bytes),
    bytes('requested in a step, A', 5, 'requested in a step, A', r => r.a.step_bytes),
    bytes('B', 4, 'in a step, B', r => r.b.step_bytes),
    { title: 'B − A', fold: 3, named: 'in a step, B − A', value: r => r.step_difference_bytes,
      show: r => changeText(r.step_difference_bytes) },
    { title: 'times', fold: 6, value: r => r.b.step_requests - r.a.step_requests, show: r =>
      signed(grouped(Math.abs(r.b.step_requests - r.a.step_requests)), r.b.step_requests - r.a.step_requests) },
  ], rows.slice(0, DIFFERENCE_ROWS), {});
}

function sizeText(row) {
  return (row.above_bytes > 0 ? bytesText(row.above_bytes) + ' to ' : 'up to ') + bytesText(row.up_to_bytes);
}

/* A line that an edit moved has another name in A. */
function lineButton(row) {
  const inA = row.line_in_a === null ? '' : ' (A: ' + frameText(row.line_in_a) + ')';
  const button = element('button', { type: 'button', textContent: frameText(row.line) + inA });
  const side = row.b.peak_bytes >= row.a.peak_bytes ? 1 : 0;
  button.addEventListener('click', () => goToLine(caseOfSide(side), side === 0 && inA ? row.line_in_a : row.line));
  return button;
}

/* The course of the first run of each side; null where it is not shown in detail. */
async function coursesOfSides() {
  return Promise.all(SIDES.map(async (_, side) => {
    const run = data.runs.find(r => r.placed !== undefined && data.rows[r.row][ROW.at] === caseOfSide(side));
    if (!run)
      return null;
    const runs = data.runs.filter(r => r.trace === run.trace);
    return unpackCourses(await columnsOf(data.traces[run.trace].courses), runs)[runs.indexOf(run)];
  }));
}

/* How many whole steps are done at a moment, the share of the step that it is in included. */
function stepsDone(steps, moment) {
  const k = Math.min(steps.length - 1, Math.max(1, upperBound(steps, moment)));
  return k - 1 + (moment - steps[k - 1]) / (steps[k] - steps[k - 1]);
}

/* Where the moments of each side stand on the axis: by steps if both sides have whole ones, so that these stand below
 * each other; else by events. */
async function placesOfSides() {
  const steps = await Promise.all(SIDES.map(async (_, side) => {
    const run = data.runs.find(r => r.placed !== undefined && data.rows[r.row][ROW.at] === caseOfSide(side));
    return run ? unpackEvents(await columnsOf(data.traces[run.trace].events)).steps : [];
  }));
  const isBySteps = steps.every(one => one.length > 1);
  return { isBySteps, placeOf: (side, moment) => isBySteps ? stepsDone(steps[side], moment) : moment };
}

const SIDE_LINES = [['requested', 'live', 1.5], ['reserved', 'reserved', 4]];
let sidesGraph = null;

/* Live and reserved memory of both sides over steps or events, on one scale. */
async function drawSides() {
  const courses = await coursesOfSides(), { isBySteps, placeOf } = await placesOfSides(), lines = [];
  const places = courses.map((course, side) => course && [...course.moment].map(moment => placeOf(side, moment)));
  courses.forEach((course, side) => {
    for (const [gauge, title, width] of course ? SIDE_LINES : [])
      lines.push({ course, places: places[side], gauge, name: 'AB'[side] + ': ' + title, color: color('run-' + side),
        dash: [], width });
  });
  byId('sides').hidden = lines.length === 0;
  if (lines.length === 0)
    return;
  const most = Math.max(...lines.flatMap(l => [...l.course[l.gauge].most])), unit = unitOf(most);
  const all = [...new Set(places.filter(p => p).flat())].sort((a, b) => a - b);
  const rows = all.map(place => [place, ...lines.map(({ course, places: own, gauge }) => {
    const i = upperBound(own, place) - 1, isOver = i === course.n - 1 && place > own[i];
    return isOver || i < 0 ? null : [course[gauge].least[i], course[gauge].most[i]].map(v => v / unit.bytes);
  })]);
  byId('sides-keys').replaceChildren(...lines.map(l =>
    element('span', { className: 'line-key' }, dashKey(l.color, l.dash, l.width), l.name)));
  sidesGraph?.destroy();
  sidesGraph = stepChart(byId('sides-chart'), rows, lines, unit, { valueRange: [0, most * 1.06 / unit.bytes],
    ...(isBySteps ? { xlabel: 'whole steps done', along: { axisLabelFormatter: v => v < 0 ? '' : String(v) } } : {}) });
  byId('sides-chart').onpointermove = event => showTip(event, sidesTip(sidesGraph.toDataXCoord(event.clientX -
    byId('sides-chart').getBoundingClientRect().left), lines, unit, isBySteps));
  byId('sides-chart').onpointerleave = hideTip;
  byId('sides-title').textContent = 'Live and reserved memory over ' + (isBySteps ? 'whole steps' : 'events');
}

/* What the pointer is at on that chart: the place, and what each line has there. */
function sidesTip(place, lines, unit, isBySteps) {
  const rows = bands.get(byId('sides-chart')), row = rows[Math.max(0, upperBound(rows, place, one => one[0]) - 1)];
  const at = Math.max(0, place);
  return [isBySteps ? 'after ' + at.toFixed(1) + ' whole steps' : 'after ' + grouped(at) + ' events',
    ...lines.flatMap(({ name }, k) => row[k + 1] ? [name + ' ' + exactText(row[k + 1][1] * unit.bytes)] : [])];
}

function drawTraceDifference() {
  const first = DIFFERENCE.first_difference, buttons = [];
  SIDES.forEach((side, i) => {
    if (first?.[side])
      buttons.push(goButton('First difference in ' + 'AB'[i], () => goTo(caseOfSide(i), first[side].event)));
  });
  byId('difference-go').replaceChildren(...buttons);
  if (DIFFERENCE.lines.length > 0)
    sharesTable(tablePart('Who holds it: lines of the program', 'difference-lines'), 'line', DIFFERENCE.lines,
      lineButton);
  if (DIFFERENCE.size_classes.length > 0)
    sharesTable(tablePart('Sizes of the requests', 'difference-sizes'), 'size', DIFFERENCE.size_classes, sizeText);
  if (DIFFERENCE.fields.length > 0)
    figuresPart(DIFFERENCE.fields, false);
}

/* ---- runs ---- */

const fieldOf = (run, name) => run.fields.find(f => f.name === name);
const fileName = path => path.replace(/^.*\//, '');
/* A pair may be of two traces, if only these differ. */
const traceOfPair = run => [...new Set([run.a, run.b].map(side => traceName(side.trace_path)))].join(' → ');

/* How much a pair has to tell: first those that end in another way, then those whose memory differs most. */
function interestOfPair(run) {
  return (fieldOf(run, 'outcome') ? 1e9 : 0) + Math.abs(fieldOf(run, 'card_peak_bytes')?.percent ?? 0);
}

/* The row of the page's table that is a side of a pair; undefined: it is not there. */
function rowOfSide(side) {
  const i = side ? data.rows.findIndex(row => data.cases[row[ROW.at]].trace_path === side.trace_path &&
    settingOf(row) === side.policy && data.cases[row[ROW.at]].device.endsWith(side.device)) : -1;
  return i >= 0 ? i : undefined;
}

function showPair(run) {
  const side = rowOfSide(run.b) ?? rowOfSide(run.a), host = byId('difference-run');
  host.replaceChildren(element('h3', { textContent: [run.b.policy, traceOfPair(run), run.b.device].join(', ') }));
  if (side !== undefined)
    host.append(element('p', {}, goButton('Show this run below', () => openRun(side))));
  const box = tableBox('Figures that differ', 'difference-pair');
  host.append(box);
  fieldsTable(box, run.fields);
}

function pairButton(run) {
  const button = element('button', { type: 'button', title: 'show all that differs' }, breakable(run.b.policy));
  button.addEventListener('click', () => showPair(run));
  return button;
}

/* "same", or both values. */
function bothText(run, name) {
  const field = fieldOf(run, name);
  return field ? valueText(name, field.a) + ' → ' + valueText(name, field.b) : 'same';
}

/* Runs that only one side has, folded. */
function drawLoneRuns(runs) {
  const text = run => 'only in ' + (run.a ? 'A' : 'B') + ': ' +
    [(run.a || run.b).policy, fileName((run.a || run.b).trace_path), (run.a || run.b).device].join(', ');
  byId('difference-parts').append(element('details', {},
    element('summary', { textContent: grouped(runs.length) + ' runs are in one of the two only' }),
    element('ul', {}, ...runs.map(run => element('li', { textContent: text(run) })))));
}

function drawRunDifferences(runs) {
  const most = Math.max(...runs.map(r => Math.abs(fieldOf(r, 'card_peak_bytes')?.percent ?? 0)));
  const both = (title, name, fold) =>
    ({ title, fold, value: r => fieldOf(r, name)?.difference ?? 0, show: r => bothText(r, name) });
  table(tablePart('Runs that differ', 'difference-runs'), [
    { title: 'setting', value: r => r.b.policy, show: pairButton },
    { title: 'trace', kind: 'text', value: traceOfPair, show: traceOfPair },
    { title: 'card', value: r => r.b.device, show: r => r.b.device },
    { title: 'outcome', value: r => fieldOf(r, 'outcome') ? 0 : 1, show: r => bothText(r, 'outcome') },
    both('of the card at the peak', 'card_peak_bytes'),
    { title: 'change', fold: 1, unit: '%', value: r => fieldOf(r, 'card_peak_bytes')?.percent ?? 0, show: r => {
      const percent = fieldOf(r, 'card_peak_bytes')?.percent ?? 0;
      return changeCell(percent, most, percent === 0 ? '' : signed(Math.abs(percent).toFixed(1), percent));
    } },
    both('driver time', 'device_time_ns', 2), both('refusals', 'oom_count', 3),
  ], runs, {});
  byId('difference-parts').append(element('div', { id: 'difference-run', ariaLive: 'polite' }));
}

/* What is not in the table. */
function sayOtherRuns() {
  const parts = [];
  if (DIFFERENCE.n_same > 0)
    parts.push(grouped(DIFFERENCE.n_same) + ' other runs are the same in every figure.');
  if (DIFFERENCE.n_left_out > 0)
    parts.push(grouped(DIFFERENCE.n_left_out) + ' more runs that differ are only in --json.');
  byId('difference-says').textContent = parts.join(' ');
}

function drawRunsDifference() {
  const runs = DIFFERENCE.runs.filter(r => r.fields).sort((a, b) => interestOfPair(b) - interestOfPair(a));
  const lone = DIFFERENCE.runs.filter(r => !r.fields);
  const first = DIFFERENCE.first_placement;
  if (first)
    byId('difference-go').append(goButton('First request placed differently', () => goTo(0, first.event)));
  sayOtherRuns();
  if (runs.length === 1)
    figuresPart(runs[0].fields, true);
  else if (runs.length > 0)
    drawRunDifferences(runs);
  if (lone.length > 0)
    drawLoneRuns(lone);
}

async function drawDifference() {
  if (!DIFFERENCE)
    return;
  byId('difference').hidden = false;
  document.title = 'What differs: ' + DIFFERENCE.a + ', ' + DIFFERENCE.b;
  if (DIFFERENCE.kind !== 'traces')
    return drawRunsDifference();
  drawTraceDifference();
  return drawSides();
}
