/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Draws the page from the data in it. Text from a trace is set as text (textContent, attributes of SVG), never as markup.
 * Nothing is loaded. The data hold exact numbers; only this script formats them.
 */
(function () {
'use strict';

const KIB = 1024, MIB = KIB * 1024, GIB = MIB * 1024;
const data = JSON.parse(document.getElementById('data').textContent);
/* How a row begins; what follows are data.columns. */
const ROW = { at: 0, setting: 1, outcome: 2, capacity: 3, first: 4 };
/* By row: its place in the order, best first. */
const PLACE = [];
data.rows_best_first.forEach((row, place) => { PLACE[row] = place; });
const COLUMN = new Map(data.columns.map((c, i) => [c.name, ROW.first + i]));
const GAUGE = new Map(data.gauges.map((g, i) => [g.name, i]));
const state = { at: 0, run: null, timeline: null, fragmentation: null, mapAt: 0, pieces: [], piece: 0 };

/* ---- small things ---- */

const byId = id => document.getElementById(id);

function element(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties || {});
  e.append(...children);
  return e;
}

function svg(name, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {}))
    e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const grouped = n => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');

function bytesText(n) {
  const size = Math.abs(n);
  if (size >= 16 * GIB)
    return (n / GIB).toFixed(2) + ' GiB';
  if (size >= MIB)
    return (n / MIB).toFixed(1) + ' MiB';
  return size >= KIB ? (n / KIB).toFixed(1) + ' KiB' : n + ' B';
}

function timeText(ns) {
  if (ns >= 1e9)
    return (ns / 1e9).toFixed(2) + ' s';
  return ns >= 1e6 ? (ns / 1e6).toFixed(1) + ' ms' : ns >= 1e3 ? (ns / 1e3).toFixed(0) + ' µs' : ns + ' ns';
}

/* One unit for everything that is compared, by the largest of it. */
function unitOf(most) {
  return most >= 10 * GIB ? { name: 'GiB', bytes: GIB, digits: 2 }
    : most >= 10 * MIB ? { name: 'MiB', bytes: MIB, digits: 1 } : { name: 'KiB', bytes: KIB, digits: 1 };
}

/* Round numbers from 0 to at least `most`, about `n` of them. */
function ticksTo(most, n) {
  const rough = most / n, power = Math.pow(10, Math.floor(Math.log10(rough || 1)));
  const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(s => s >= rough) || power;
  const ticks = [];
  for (let t = 0; t <= most * 1.0001; t += step)
    ticks.push(Math.round(t * 1e6) / 1e6);
  return ticks;
}

const cellOf = (row, name) => row[COLUMN.get(name)];
const settingOf = row => data.settings[row[ROW.setting]].label;
/* All settings are PyTorch's: then the page need not say so in each of them. */
const PREFIX = 'pytorch:';
const isOnePolicy = data.settings.length > 1 && data.settings.every(s => (s.label + ':').startsWith(PREFIX));
const shortLabel = label => isOnePolicy && label.startsWith(PREFIX) ? label.slice(PREFIX.length) : label;
const isOk = row => row[ROW.outcome] === 'ok';
const rowsHere = () => data.rows.map((_, i) => i).filter(i => data.rows[i][ROW.at] === state.at);
const runOfRow = i => data.runs.find(r => r.row === i && r.timeline);
const wordOfEvents = () => data.cases[state.at].trace_numbering === 'source' ? 'record' : 'event';
const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

/* A setting's label, which may break after a comma or a colon. */
function breakable(label) {
  const name = element('span', { className: 'label', title: label });
  for (const part of shortLabel(label).split(/(?<=[,;:])/))
    name.append(part, element('wbr'));
  return name;
}

/* ---- tables ---- */

/* columns: { title, unit, meaning, value(item), show(item) }; show gives text or an element, value what to sort by. */
function table(host, columns, items, options) {
  const body = element('tbody');
  const head = element('tr');
  const sorted = { by: -1, falling: false };         /* -1: in the order given */
  function fill() {
    const { value } = columns[sorted.by] || { value: item => items.indexOf(item) };
    const order = items.slice().sort((a, b) => compare(value(a), value(b)) * (sorted.falling ? -1 : 1));
    body.replaceChildren(...order.map(item => rowElement(columns, item, options)));
    [...head.children].forEach((th, i) =>
      th.setAttribute('aria-sort', i !== sorted.by ? 'none' : sorted.falling ? 'descending' : 'ascending'));
  }
  columns.forEach((column, i) => {
    const button = element('button', { type: 'button', textContent: column.title, title: column.meaning || '' });
    if (column.unit)
      button.append(' ', element('span', { className: 'unit', textContent: '(' + column.unit + ')' }));
    button.addEventListener('click', () => {
      sorted.falling = sorted.by === i ? !sorted.falling : false;
      sorted.by = i;
      fill();
    });
    const th = element('th', { scope: 'col' }, button);
    head.append(th);
  });
  fill();
  host.replaceChildren(element('table', {}, element('thead', {}, head), body));
}

/* Nulls last, whatever they are compared with. */
function compare(a, b) {
  if (a === b)
    return 0;
  if (a === null || a === undefined)
    return 1;
  if (b === null || b === undefined)
    return -1;
  return a < b ? -1 : 1;
}

function rowElement(columns, item, options) {
  const tr = element('tr', { className: options.isBest && options.isBest(item) ? 'best' : '' });
  columns.forEach((column, i) => {
    const shown = column.show(item);
    const td = element(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {});
    td.append(shown === null || shown === undefined ? '–' : shown);
    const value = column.value(item);
    if (value !== null && value !== undefined) {
      td.dataset.value = value;
      if (/_bytes|_ns/.test(column.name || ''))
        td.title = grouped(value) + (column.name.endsWith('_ns') ? ' ns' : ' bytes');
    }
    if (column.name)
      td.dataset.column = column.name;
    tr.append(td);
  });
  return tr;
}

function columnOfRuns(c, unit) {
  const at = COLUMN.get(c.name);
  const column = { name: c.name, title: c.title, meaning: c.meaning, value: i => data.rows[i][at] };
  if (c.name.includes('_bytes')) {
    column.unit = unit.name;
    column.show = i => data.rows[i][at] === null ? null : (data.rows[i][at] / unit.bytes).toFixed(unit.digits);
  } else if (c.name.endsWith('_ns')) {
    column.unit = 'ms';
    column.show = i => data.rows[i][at] === null ? null : (data.rows[i][at] / 1e6).toFixed(1);
  } else if (c.name === 'fragmentation_utilization') {
    column.unit = '%';
    column.show = i => data.rows[i][at] === null ? null : (100 * data.rows[i][at]).toFixed(1);
  } else {
    column.show = i => data.rows[i][at] === null ? null : grouped(data.rows[i][at]);
  }
  return column;
}

function outcomeTag(outcome) {
  return outcome === 'ok' ? 'ok' : element('span', { className: 'tag ' + outcome,
    textContent: outcome === 'oom' ? 'out of memory' : outcome });
}

function settingCell(i) {
  const label = breakable(settingOf(data.rows[i]));
  if (!runOfRow(i))
    return label;
  const button = element('button', { type: 'button', title: 'show this run in detail' }, label);
  button.addEventListener('click', () => {
    chooseRun(i);
    byId('detail').scrollIntoView();
  });
  return button;
}

function mostBytes(rows) {
  return Math.max(...rows.map(i => takenOf(data.rows[i])), 1);
}

function drawRows() {
  const rows = rowsHere(), unit = unitOf(mostBytes(rows));
  const columns = [
    { title: 'setting', meaning: 'the policy, and what else differs', value: i => settingOf(data.rows[i]),
      show: settingCell },
    { name: 'outcome', title: 'outcome', meaning: 'how the run ended', value: i => data.rows[i][ROW.outcome],
      show: i => outcomeTag(data.rows[i][ROW.outcome]) },
    ...data.columns.map(c => columnOfRuns(c, unit)),
  ];
  rows.sort((a, b) => PLACE[a] - PLACE[b]);
  table(byId('rows'), columns, rows, { isBest: i => data.cases[state.at].best === i });
}

/* ---- many traces ---- */

function drawSettings() {
  const share = name => s => s[name] === undefined ? null : s[name].toFixed(3);
  const columns = [
    { title: 'setting', value: s => s.label, show: s => breakable(s.label) },
    { title: 'runs', value: s => s.runs, show: s => grouped(s.runs) },
    { title: 'got through', value: s => s.ok, show: s => grouped(s.ok) },
    { title: 'out of memory', value: s => s.oom, show: s => grouped(s.oom) },
    { title: 'card / requested, mean', value: s => s.mean_share, show: share('mean_share') },
    { title: 'worst', value: s => s.worst_share, show: share('worst_share') },
    { title: 'driver calls', value: s => s.device_calls, show: s => grouped(s.device_calls) },
    { title: 'driver time', unit: 'ms', value: s => s.device_time_ns, show: s => (s.device_time_ns / 1e6).toFixed(1) },
  ];
  table(byId('settings'), columns, bestFirst(), { isBest: s => s === data.settings[data.best_setting] });
}

/* The page ranks nothing itself: the order comes with the data. */
function bestFirst() {
  return data.settings_best_first.map(i => data.settings[i]);
}

/* What a run takes of the card at its peak, by which runs are ranked; results of older versions say what is reserved. */
function takenOf(row) {
  const card = cellOf(row, 'card_peak_bytes');
  return (card === null ? cellOf(row, 'peak_reserved_bytes') : card) || 0;
}

function shareOf(row) {
  const requested = cellOf(row, 'peak_requested_bytes');
  return requested > 0 ? takenOf(row) / requested : 1;
}

function matrixCell(row) {
  if (row === undefined)
    return element('td', { textContent: '' });
  if (!isOk(row))
    return element('td', { className: 'oom', textContent: row[ROW.outcome] === 'oom' ? 'OOM' : 'err' });
  const share = shareOf(row);
  const td = element('td', { className: 'level', textContent: share < 9.995 ? share.toFixed(2) : share.toFixed(0) });
  td.style.setProperty('--level', Math.min(5, Math.max(0, Math.log2(share) * 5)).toFixed(2));
  td.title = settingOf(row) + ', ' + data.cases[row[ROW.at]].label + ': ' +
    bytesText(takenOf(row)) + ' of the card';
  return td;
}

function drawMatrix() {
  const cells = new Map(data.rows.map(row => [row[ROW.setting] + ' ' + row[ROW.at], row]));
  const head = element('tr', {}, element('th', { scope: 'col', textContent: 'setting' }));
  const isFew = data.cases.length <= 4 && data.n_traces === 1;
  data.cases.forEach((c, i) => {
    const button = element('button', { type: 'button', textContent: isFew ? c.label : i + 1, title: c.label });
    button.addEventListener('click', () => chooseCase(i));
    head.append(element('th', { scope: 'col' }, button));
  });
  const body = bestFirst().map(s => element('tr', {}, element('th', { scope: 'row' }, breakable(s.label)),
    ...data.cases.map((_, i) => matrixCell(cells.get(data.settings.indexOf(s) + ' ' + i)))));
  byId('matrix').replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
  byId('case-names').hidden = isFew;
  byId('case-names').querySelector('ol').replaceChildren(
    ...data.cases.map(c => element('li', { textContent: c.label })));
}

function chooseCase(i) {
  state.at = i;
  byId('pick-case').querySelector('select').selectedIndex = i;
  byId('matrix').querySelectorAll('thead th').forEach((th, k) =>
    k === i + 1 ? th.setAttribute('aria-current', 'true') : th.removeAttribute('aria-current'));
  drawCase();
}

function drawMany() {
  if (data.cases.length < 2)
    return;
  const select = byId('pick-case').querySelector('select');
  select.append(...data.cases.map((c, i) => element('option', { textContent: (i + 1) + ': ' + c.label })));
  select.addEventListener('change', () => chooseCase(select.selectedIndex));
  byId('pick-case').hidden = byId('over-cases').hidden = false;
  drawSettings();
  drawMatrix();
}

/* ---- peak against the card ---- */

function barOf(rows, most, unit) {
  const row = rows[0];
  const taken = takenOf(row), requested = cellOf(row, 'peak_requested_bytes');
  const capacity = row[ROW.capacity];
  const fill = element('div', { className: 'fill' },
    element('div', { className: 'used' }));
  fill.style.width = 100 * taken / most + '%';
  fill.firstChild.style.width = taken > 0 ? Math.min(100, 100 * requested / taken) + '%' : 0;
  const text = (taken / unit.bytes).toFixed(unit.digits) + ' ' + unit.name + (isOk(row) ? '' :
    row[ROW.outcome] === 'oom' ? ', OOM' : ', failed');
  const track = element('div', { className: 'track' }, fill);
  if (capacity !== null && capacity <= most) {
    const card = element('div', { className: 'card', title: 'the card: ' + bytesText(capacity) });
    card.style.left = 100 * capacity / most + '%';
    track.append(card);
  }
  const value = element('div', { className: 'value', textContent: text });
  return element('div', { className: 'bar' }, barName(rows), value, track);
}

/* Runs with the same bar share it. */
function barName(rows) {
  const name = element('div', { className: 'name' }, breakable(settingOf(rows[0])));
  if (rows.length > 1)
    name.append(element('span', { className: 'unit', textContent: ' and ' + (rows.length - 1) + ' more alike',
      title: rows.slice(1).map(settingOf).join('\n') }));
  return name;
}

function barsOf(rows) {
  const bars = new Map();
  for (const row of rows) {
    const alike = JSON.stringify([row[ROW.outcome], row[ROW.capacity], takenOf(row),
      cellOf(row, 'peak_requested_bytes')]);
    bars.set(alike, (bars.get(alike) || []).concat([row]));
  }
  return [...bars.values()];
}

function axisOf(most, unit) {
  const ticks = ticksTo(most / unit.bytes, window.innerWidth < 640 ? 3 : 6);
  const axis = element('div', { className: 'axis' });
  for (const t of ticks) {
    const label = element('span', { textContent: t });
    label.style.left = 100 * t * unit.bytes / most + '%';
    if (t * unit.bytes > 0.97 * most)
      label.className = 'last';
    axis.append(label);
  }
  axis.append(element('span', { className: 'title', textContent: 'of the card at the peak, ' + unit.name }));
  return element('div', { className: 'bar' }, element('div'), element('div'), axis);
}

function key(className, text) {
  return element('span', { className: 'key' }, element('i', { className }), text);
}

function drawBars() {
  const rows = rowsHere().sort((a, b) => PLACE[a] - PLACE[b]).map(i => data.rows[i]);
  const taken = Math.max(...rows.map(takenOf), 1);
  const cards = rows.map(r => r[ROW.capacity]).filter(c => c !== null);
  const near = cards.filter(c => c <= 3 * taken);
  const most = Math.max(taken, ...near) * 1.02, unit = unitOf(taken);
  const keys = [key('used', 'requested at its own peak'), key('lost', 'the rest of what the run takes of the card')];
  if (near.length > 0)
    keys.push(key('card', 'all that the card has'));
  const far = [...new Set(cards.filter(c => c > 3 * taken))].map(bytesText);
  const note = far.length === 0 ? [] : [element('p', { className: 'quiet',
    textContent: 'Far beyond the right edge: the end of the card, at ' + far.join(', ') + '.' })];
  const bars = barsOf(rows).map(r => barOf(r, most, unit));
  byId('bars').replaceChildren(element('p', {}, ...keys), ...bars, axisOf(most, unit), ...note);
}

/* ---- the frontier ---- */

function frontOf(points) {
  const front = [];
  let least = Infinity;
  for (const p of points.slice().sort((a, b) => a.time - b.time || a.bytes - b.bytes))
    if (p.bytes < least) {
      least = p.bytes;
      front.push(p);
    }
  return front;
}

/* Settings with the same result are one point. */
function pointsOf(rows) {
  const points = new Map();
  for (const i of rows) {
    const row = data.rows[i];
    if (!isOk(row))
      continue;
    const p = { time: cellOf(row, 'device_time_ns'), bytes: takenOf(row), names: [], rows: [] };
    const there = points.get(p.time + ' ' + p.bytes) || p;
    points.set(p.time + ' ' + p.bytes, there);
    there.names.push(settingOf(row));
    there.rows.push(i);
  }
  return [...points.values()];
}

const isRecommended = p => p.rows.includes(data.cases[state.at].best);

function pointText(p) {
  return p.names.slice(0, 6).join(', ') + (p.names.length > 6 ? ' and ' + (p.names.length - 6) + ' more' : '') + ': ' +
    bytesText(p.bytes) + ' of the card at the peak, ' + timeText(p.time) + ' of driver time';
}

function shortened(text, n) {
  return text.length <= n ? text : text.slice(0, n - 1) + '…';
}

/* A label next to a point, on the side with room; none if it would cover another label. */
function placeLabel(taken, x, y, text, width) {
  const w = text.length * 7.4 + 8, isLeft = x + 10 + w > width;
  for (const dy of [-10, 18, 4]) {
    const box = { left: isLeft ? x - 10 - w : x + 10, top: y + dy - 12 };
    if (box.left < 0 || box.top < 0)
      continue;
    if (taken.every(t => box.left > t.left + t.w || box.left + w < t.left || Math.abs(box.top - t.top) > 15)) {
      taken.push({ left: box.left, top: box.top, w });
      return svg('text', { x: isLeft ? x - 10 : x + 10, y: y + dy, 'text-anchor': isLeft ? 'end' : 'start' }, text);
    }
  }
  return null;
}

function frontierAxes(box, unit, mostBytesHere, mostTime) {
  const parts = [], timeUnit = mostTime >= 2e9 ? { name: 's', ns: 1e9 } : { name: 'ms', ns: 1e6 };
  for (const t of ticksTo(mostBytesHere / unit.bytes, 5)) {
    const y = box.y(t * unit.bytes);
    parts.push(svg('line', { class: 'grid', x1: box.left, x2: box.right, y1: y, y2: y }),
      svg('text', { class: 'tick', x: box.left - 6, y: y + 4, 'text-anchor': 'end' }, t));
  }
  for (const t of ticksTo(mostTime / timeUnit.ns, window.innerWidth < 640 ? 3 : 6)) {
    const x = box.x(t * timeUnit.ns);
    parts.push(svg('line', { class: 'grid', x1: x, x2: x, y1: box.top, y2: box.bottom }),
      svg('text', { class: 'tick', x, y: box.bottom + 18, 'text-anchor': 'middle' }, t));
  }
  parts.push(svg('text', { class: 'tick', x: (box.left + box.right) / 2, y: box.bottom + 38, 'text-anchor': 'middle' },
    'modelled driver time, ' + timeUnit.name),
  svg('text', { class: 'tick', x: 0, y: 14 }, 'of the card at the peak, ' + unit.name));
  return parts;
}

function pointMark(p, box, isOnFront, isFirst) {
  const isBest = isRecommended(p);
  const mark = svg('circle', { class: 'point' + (isOnFront ? ' on-front' : '') + (isBest ? ' best' : ''),
    cx: box.x(p.time), cy: box.y(p.bytes), r: isBest ? 8 : isOnFront ? 6 : 5, tabindex: isFirst ? 0 : -1, role: 'img',
    'aria-label': pointText(p) });
  const say = () => { byId('frontier-says').textContent = pointText(p); };
  mark.addEventListener('focus', say);
  mark.addEventListener('mouseenter', say);
  mark.addEventListener('click', say);
  return mark;
}

function walkMarks(event) {
  const marks = [...event.currentTarget.querySelectorAll('.point')];
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const at = marks.indexOf(document.activeElement);
  if (step === undefined || at < 0)
    return;
  event.preventDefault();
  const next = marks[(at + step + marks.length) % marks.length];
  marks[at].setAttribute('tabindex', -1);
  next.setAttribute('tabindex', 0);
  next.focus();
}

function drawFrontier() {
  const host = byId('frontier'), points = pointsOf(rowsHere()).sort((a, b) => a.time - b.time || a.bytes - b.bytes);
  byId('frontier-says').textContent = '';
  if (points.length === 0) {
    host.replaceChildren(element('p', { textContent: 'No run gets through.' }));
    return;
  }
  const width = Math.max(300, host.clientWidth), height = 340;
  const mostBytesHere = Math.max(...points.map(p => p.bytes)) * 1.08;
  const mostTime = Math.max(...points.map(p => p.time), 1) * 1.05;
  const box = { left: 58, right: width - 14, top: 26, bottom: height - 48 };
  box.x = t => box.left + (box.right - box.left) * t / mostTime;
  box.y = b => box.bottom - (box.bottom - box.top) * b / mostBytesHere;
  const front = frontOf(points), taken = [], labels = [];
  for (const p of [...front, ...points.filter(q => !front.includes(q))])
    taken.push({ left: box.x(p.time) - 7, top: box.y(p.bytes) - 8, w: 14 });
  const named = front.concat(points.length <= 12 ? points.filter(q => !front.includes(q)) : []);
  named.sort((a, b) => isRecommended(b) - isRecommended(a));         /* its label is not to be crowded out */
  for (const p of named) {
    const more = p.names.length > 1 ? ' +' + (p.names.length - 1) : '';
    const label = placeLabel(taken, box.x(p.time), box.y(p.bytes),
      shortened(shortLabel(p.names[0]), Math.floor(width / 25)) + more, width);
    if (label)
      labels.push(label);
  }
  const path = front.map((p, i) => (i === 0 ? 'M' : 'H' + box.x(p.time) + 'V') +
    (i === 0 ? box.x(p.time) + ' ' : '') + box.y(p.bytes)).join('') + 'H' + box.right;
  const chart = svg('svg', { viewBox: '0 0 ' + width + ' ' + height, role: 'group',
    'aria-label': 'Memory against driver time; arrow keys move from point to point' },
  ...frontierAxes(box, unitOf(mostBytesHere), mostBytesHere, mostTime), svg('path', { class: 'front', d: path }),
  ...points.map((p, i) => pointMark(p, box, front.includes(p), i === 0)), ...labels);
  chart.addEventListener('keydown', walkMarks);
  host.replaceChildren(chart, element('p', { className: 'quiet', textContent: 'Filled: on the line; large: the ' +
    'recommended run of this trace; hollow: another point beats it.' }));
}

/* ---- a run over time ---- */

const LINES = {
  timeline: [['reserved', [], 2.5], ['active', [12, 3], 2], ['allocated', [6, 3], 2], ['requested', [2, 2], 2],
    ['inactive_split', [10, 3, 2, 3], 2]],
  fragmentation: [['unallocated', [], 2.5], ['inactive_split', [10, 3, 2, 3], 2], ['rounding', [2, 2], 2]],
};
const LINE_TITLES = { inactive_split: 'inactive split', unallocated: 'reserved, not allocated',
  rounding: 'lost to rounding' };
const lineTitle = name => LINE_TITLES[name] || name;

function gaugeOf(bucket, name) {
  const at = 2 + 2 * GAUGE.get(name);
  return { least: bucket[at], most: bucket[at + 1] };
}

/* The line is the most of each interval, the shade below it reaches to the least. */
function seriesOf(run, lines, unit, isTime) {
  return run.timeline.map(b => [isTime ? b[1] / 1e6 : b[0], ...lines.map(([name]) => {
    const g = gaugeOf(b, name);
    return [g.least / unit.bytes, g.most / unit.bytes, g.most / unit.bytes];
  })]);
}

function dashKey(name, dash, width) {
  const line = svg('line', { x1: 1, x2: 35, y1: 7, y2: 7, stroke: color(name), 'stroke-width': width + 0.5,
    'stroke-dasharray': dash.join(' ') });
  return svg('svg', { width: 36, height: 14, 'aria-hidden': true }, line);
}

function drawLegend(host, which) {
  host.replaceChildren(...LINES[which].map(([name, dash, width], i) => {
    const box = element('input', { type: 'checkbox', checked: true });
    box.addEventListener('change', () => state[which].setVisibility(i, box.checked));
    return element('label', { className: 'line-key', title: data.gauges[GAUGE.get(name)].meaning }, box,
      dashKey(name, dash, width), lineTitle(name));
  }));
}

function chartOptions(which, unit, most, isTime) {
  const lines = LINES[which], series = {};
  lines.forEach(([name, dash, width]) => {
    series[name] = { strokePattern: dash.length ? dash : null, strokeWidth: width, color: color(name) };
  });
  return {
    labels: ['at', ...lines.map(l => l[0])], customBars: true, fillAlpha: 0.25, series, legend: 'never',
    valueRange: [0, most * 1.06 / unit.bytes], includeZero: true, stepPlot: false, animatedZooms: false,
    ylabel: unit.name, xlabel: isTime ? 'time since the first event, ms' : 'events replayed',
    axisLabelColor: color('text'), axisLineColor: color('line'), gridLineColor: color('line'), highlightCircleSize: 4,
    axisLabelFontSize: 12, xLabelHeight: 20, yLabelWidth: 20,
    axes: { x: { axisLabelFormatter: v => grouped(v), pixelsPerLabel: 80 },
            y: { axisLabelFormatter: v => String(Math.round(v * 1000) / 1000), axisLabelWidth: 48 } },
    highlightCallback: (event, x, points, row) => sayAt(row),
  };
}

function drawCourse(which) {
  const run = state.run, isTime = byId('pick-axis').value === 'time';
  const most = Math.max(...run.timeline.map(b => Math.max(...LINES[which].map(([n]) => gaugeOf(b, n).most))), KIB);
  const unit = unitOf(most);
  const options = chartOptions(which, unit, most, isTime);
  if (state[which])
    state[which].destroy();
  drawLegend(byId(which + '-legend'), which);
  state[which] = new Dygraph(byId(which), seriesOf(run, LINES[which], unit, isTime), options);
}

function rangeText(g) {
  return g.least === g.most ? bytesText(g.most) : bytesText(g.least) + ' to ' + bytesText(g.most);
}

/* What stands at a bucket, in words; both charts point at it. */
function sayAt(at) {
  const bucket = state.run.timeline[at], next = state.run.timeline[at + 1];
  const events = next ? grouped(bucket[0]) + ' to ' + grouped(next[0]) : 'from ' + grouped(bucket[0]) + ' on';
  const say = which =>
    LINES[which].map(([name]) => lineTitle(name) + ' ' + rangeText(gaugeOf(bucket, name))).join('; ');
  byId('timeline-says').textContent = 'Events ' + events + ' (' + timeText(bucket[1]) + '): ' + say('timeline') + '.';
  byId('fragmentation-says').textContent = 'There: ' + say('fragmentation') + '.';
  byId('timeline-at').value = at;
}

function selectAt() {
  const at = Number(byId('timeline-at').value);
  for (const which of ['timeline', 'fragmentation'])
    if (state[which])
      state[which].setSelection(at);
  sayAt(at);
}

function peakBucket(run) {
  let at = 0;
  run.timeline.forEach((b, i) => {
    if (gaugeOf(b, 'reserved').most > gaugeOf(run.timeline[at], 'reserved').most)
      at = i;
  });
  return at;
}

function drawTimelines() {
  const run = state.run;
  drawCourse('timeline');
  drawCourse('fragmentation');
  byId('timeline-at').max = run.timeline.length - 1;
  byId('timeline-at').value = peakBucket(run);
  const note = run.events_each === 1 ? 'Every event is drawn.' : 'Each point stands for ' + grouped(run.events_each) +
    ' events: the line is the most within them, the shade below it reaches down to the least. Both are exact, so no ' +
    'peak is lost.';
  byId('timeline-note').textContent = note + ' Drag over the chart to zoom, double-click to zoom out.';
  selectAt();
}

/* ---- the map ---- */

const STATE = Object.fromEntries(data.states.map((s, i) => [s.name, i]));
const PATTERNS = { LIVE: null, PENDING: 'M0 8L8 0', SPLIT: 'M0 0L8 8', CACHED: 'M4 0V8', MIXED: 'M0 4H8M4 0V8' };

function patternOf(name) {
  const pattern = svg('pattern', { id: 'fill-' + name, width: 8, height: 8, patternUnits: 'userSpaceOnUse' },
    svg('rect', { width: 8, height: 8, fill: 'var(--' + name.toLowerCase() + ')' }));
  if (PATTERNS[name])
    pattern.append(svg('path', { d: PATTERNS[name], stroke: 'var(--ink)', 'stroke-width': 1 }));
  return pattern;
}

function drawMapLegend() {
  byId('map-legend').replaceChildren(...data.states.map(s => {
    const sample = svg('svg', { width: 34, height: 16, 'aria-hidden': true },
      svg('rect', { width: 34, height: 16, fill: 'url(#fill-' + s.name + ')', stroke: 'var(--ink)' }));
    return element('span', { className: 'key', title: s.meaning }, sample, s.title);
  }));
}

/* Of a block: what, how large, for whom. */
function pieceText(segment, piece) {
  const [offset, bytes, kind] = piece;
  const place = bytesText(bytes) + ' (' + grouped(bytes) + ' bytes) at ' + bytesText(offset) + ' of the segment at ' +
    segment[0] + ' (' + bytesText(segment[1]) + ', stream ' + segment[2] + ', pool ' + segment[3] + ')';
  if (kind === STATE.MIXED)
    return grouped(piece[4]) + ' small blocks, ' + place + '; ' + bytesText(piece[3]) + ' of it live.';
  const lines = [data.states[kind].title + ': ' + place + '.'];
  if (piece.length > 3) {
    const [, , , requested, event, age, stack] = piece;
    lines[0] += ' Requested: ' + bytesText(requested) + (event < 0 ? ', before the first event.' :
      ', at ' + wordOfEvents() + ' ' + grouped(event) + '; age ' + timeText(age) + '.');
    if (stack > 0)
      lines.push(data.stacks[stack - 1]);
    else
      lines.push('No stack was recorded.');
  }
  return lines.join('\n');
}

function sayPiece(i) {
  const { rect, segment, piece } = state.pieces[i];
  state.pieces[state.piece]?.rect.classList.remove('here');
  state.piece = i;
  rect.classList.add('here');
  byId('map-says').textContent = pieceText(segment, piece);
}

function mapRows(map, width) {
  const largest = Math.max(...map.segments.map(s => s[1]), 1), left = 8, rowHeight = 18;
  const scale = (width - left - 8) / largest;
  const parts = [];
  state.pieces = [];
  state.piece = 0;
  map.segments.forEach((segment, k) => {
    const y = 4 + k * rowHeight;
    for (const piece of segment[4]) {
      const rect = svg('rect', { class: 'piece', x: left + piece[0] * scale, y, height: rowHeight - 4,
        width: Math.max(0.7, piece[1] * scale), fill: 'url(#fill-' + data.states[piece[2]].name + ')' });
      const at = state.pieces.push({ rect, segment, piece }) - 1;
      rect.addEventListener('mouseenter', () => sayPiece(at));
      rect.addEventListener('click', () => sayPiece(at));
      parts.push(rect);
    }
    parts.push(svg('rect', { x: left, y, width: Math.max(1, segment[1] * scale), height: rowHeight - 4, fill: 'none',
      stroke: 'var(--ink)' }));
  });
  const unit = unitOf(largest), bottom = 8 + map.segments.length * rowHeight;
  for (const t of ticksTo(largest / unit.bytes, window.innerWidth < 640 ? 3 : 8))
    parts.push(svg('text', { class: 'tick', x: left + t * unit.bytes * scale, y: bottom + 12,
      'text-anchor': t === 0 ? 'start' : t * unit.bytes > 0.96 * largest ? 'end' : 'middle' }, t));
  parts.push(svg('text', { class: 'tick', x: left, y: bottom + 30 }, 'offset in the segment, ' + unit.name));
  return { parts, height: bottom + 38 };
}

function mapHead(map) {
  const at = map.place < 0 ? 'At the start' : 'After ' + wordOfEvents() + ' ' + grouped(map.place);
  const names = { peak: 'reserved at its peak', 'first refusal': 'the first refused request' };
  const what = Object.keys(names).filter(name => map.what.includes(name)).map(name => names[name]).join(', ');
  return at + (what ? ' (' + what + ')' : '') + ': ' + bytesText(map.reserved_bytes) + ' reserved, ' +
    bytesText(map.allocated_bytes) +
    ' allocated, ' + bytesText(map.inactive_split_bytes) + ' inactive split; ' + grouped(map.blocks) + ' blocks.';
}

function drawMap() {
  const map = state.run.maps[state.mapAt], host = byId('map');
  const { parts, height } = mapRows(map, Math.max(280, host.clientWidth - 2));
  const patterns = svg('defs', {}, ...data.states.map(s => patternOf(s.name)));
  host.replaceChildren(svg('svg', { width: host.clientWidth - 2, height }, patterns, ...parts));
  byId('map-head').textContent = mapHead(map);
  byId('map-says').textContent = 'Point at a block, or move with the arrow keys, to read its size, age and stack.';
  byId('map-note').textContent = 'A row is a segment, from its first byte on the left; all rows have one scale.' +
    (map.left_out_segments > 0 ? ' The ' + grouped(map.left_out_segments) + ' smallest segments, ' +
      bytesText(map.left_out_bytes) + ', are left out.' : '');
}

function walkMap(event) {
  const rows = { ArrowDown: 1, ArrowUp: -1 }[event.key], blocks = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if ((rows === undefined && blocks === undefined) || state.pieces.length === 0)
    return;
  event.preventDefault();
  let at = state.piece + (blocks || 0);
  if (rows !== undefined) {
    const here = state.pieces[state.piece].segment;
    while (state.pieces[at] && state.pieces[at].segment === here)
      at += rows;
  }
  sayPiece(Math.min(state.pieces.length - 1, Math.max(0, at)));
  state.pieces[state.piece].rect.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function drawMaps() {
  const maps = state.run.maps, peak = maps.findIndex(m => m.what.includes('refusal'));
  byId('map-part').hidden = false;
  if (maps.length === 0 || maps.every(m => m.segments.length === 0)) {
    byId('map-head').textContent = 'This policy does not show its blocks.';
    for (const id of ['map-slider', 'map-legend', 'map', 'map-says', 'map-note'])
      byId(id).hidden = true;
    return;
  }
  for (const id of ['map-legend', 'map', 'map-says', 'map-note'])
    byId(id).hidden = false;
  byId('map-slider').hidden = maps.length < 2;
  state.mapAt = peak >= 0 ? peak : Math.max(0, maps.findIndex(m => m.what.includes('peak')));
  byId('map-at').max = maps.length - 1;
  byId('map-at').value = state.mapAt;
  drawMap();
}

/* ---- choosing a run ---- */

function chooseRun(row) {
  const run = runOfRow(row);
  byId('drawn').hidden = !run;
  byId('pick-run').value = row;
  state.run = run;
  if (!run)
    return;
  drawTimelines();
  drawMaps();
}

function drawRuns() {
  const rows = rowsHere(), shown = rows.filter(runOfRow), select = byId('pick-run');
  const refused = data.runs.filter(r => r.why_not && rows.includes(r.row));
  select.replaceChildren(...shown.map(i => element('option', { value: i, textContent: settingOf(data.rows[i]) +
    (isOk(data.rows[i]) ? '' : ' (' + data.rows[i][ROW.outcome] + ')') })));
  select.hidden = shown.length === 0;
  const reasons = [...new Set(refused.map(r => r.why_not))].map(why => 'Not shown: ' +
    refused.filter(r => r.why_not === why).slice(0, 3).map(r => settingOf(data.rows[r.row])).join(', ') + ', because ' +
    why + '.');
  if (shown.length === 0 && refused.length === 0)
    reasons.push('No run of this trace is shown in detail.');
  byId('why-not').textContent = reasons.join(' ');
  const best = data.cases[state.at].best;
  chooseRun(shown.includes(best) ? best : shown[0]);
}

/* ---- refusals ---- */

function drawOoms() {
  const rows = rowsHere(), ooms = data.ooms.filter(o => rows.includes(o.row));
  byId('oom-part').hidden = ooms.length === 0;
  if (ooms.length === 0)
    return;
  const bytes = (name, title) => ({ name, title, value: o => o[name], show: o => bytesText(o[name]) });
  table(byId('ooms'), [
    { title: 'setting', value: o => settingOf(data.rows[o.row]), show: o => breakable(settingOf(data.rows[o.row])) },
    { title: 'refused', value: o => cellOf(data.rows[o.row], 'oom_count'),
      show: o => grouped(cellOf(data.rows[o.row], 'oom_count')) },
    { name: 'oom_first_event', title: 'first at ' + wordOfEvents(), value: o => o.oom_first_event,
      show: o => o.oom_first_event < 0 ? 'the start' : grouped(o.oom_first_event) },
    bytes('oom_first_requested_bytes', 'it asked for'), bytes('oom_first_reserved_bytes', 'reserved then'),
    bytes('oom_first_device_free_bytes', 'free on the card'),
  ], ooms, {});
  byId('explanations').replaceChildren(...data.runs.filter(r => r.explanation && rows.includes(r.row)).map((r, i) =>
    element('details', { open: i === 0 }, element('summary', { textContent: 'Why ' + settingOf(data.rows[r.row]) +
      ' ran out of memory' }), element('pre', { textContent: r.explanation.trim() }))));
}

/* ---- the rest ---- */

function drawRemarks() {
  const shown = data.remarks.map(r => element('li', { textContent: (r.is_warning ? 'Warning: ' : '') + r.text +
    (r.runs < data.rows.length ? ' (' + grouped(r.runs) + ' of ' + grouped(data.rows.length) + ' runs)' : '') }));
  if (data.n_remarks > data.remarks.length)
    shown.push(element('li', { textContent: (data.n_remarks - data.remarks.length) + ' more are in the database.' }));
  byId('remarks').replaceChildren(...shown);
  byId('notes').replaceChildren(...data.notes.map(text => element('li', { textContent: text })));
}

function describe() {
  const t = data.cases[0];
  const counts = 'Traces: ' + grouped(data.n_traces) + ', cards: ' + grouped(data.n_devices) + ', settings: ' +
    grouped(data.settings.length) + ', runs: ' + grouped(data.rows.length) + '.';
  byId('what').textContent = data.n_traces > 1 ? counts : 'Trace ' + t.trace_path + ' (' + t.trace_source + '): ' +
    grouped(t.trace_events) + ' events, ' + grouped(t.trace_allocs) + ' requests, ' +
    (t.trace_starts === 'empty' ? 'from the start' : 'starting in mid-run') + '. At most ' +
    bytesText(t.trace_peak_requested_bytes) + ' requested at once. ' + counts;
}

function drawCase() {
  drawRows();
  drawBars();
  drawFrontier();
  drawRuns();
  drawOoms();
}

/* What depends on the width or the colours. */
function drawAgain() {
  drawBars();
  drawFrontier();
  if (state.run) {
    drawTimelines();
    if (!byId('map').hidden)
      drawMap();
  }
}

function start() {
  let timer = 0, width = window.innerWidth;
  describe();
  drawMapLegend();
  drawRemarks();
  drawMany();
  byId('pick-run').addEventListener('change', e => chooseRun(Number(e.target.value)));
  byId('pick-axis').addEventListener('change', drawTimelines);
  byId('timeline-at').addEventListener('input', selectAt);
  byId('map-at').addEventListener('input', e => {
    state.mapAt = Number(e.target.value);
    drawMap();
  });
  byId('map').addEventListener('keydown', walkMap);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAgain);
  window.addEventListener('resize', () => {
    if (window.innerWidth === width)
      return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(drawAgain, 150);
  });
  if (data.cases.length > 1)
    chooseCase(Math.max(0, data.cases.findIndex(c => c.best !== undefined)));     /* one that somebody gets through */
  else
    drawCase();
  document.documentElement.dataset.state = 'drawn';
}

start();
}());
