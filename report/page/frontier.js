/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The peak of the card as bars, and memory against driver time. */

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
    const card = element('div', { className: 'card', title: 'the card: ' + cardText(capacity) });
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
  const far = [...new Set(cards.filter(c => c > 3 * taken))].map(cardText);
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

const isRecommended = p => p.rows.includes(bestHere());

function pointText(p) {
  return p.names.slice(0, 6).join(', ') + (p.names.length > 6 ? ' and ' + (p.names.length - 6) + ' more' : '') + ': ' +
    bytesText(p.bytes) + ' of the card at the peak, ' + timeText(p.time) + ' of driver time';
}

function shortened(text, n) {
  return text.length <= n ? text : text.slice(0, n - 1) + '…';
}

const LABELS_APART = 18;             /* pixels between two labels of a row */

/* A label next to a point, on the side with room. None if it would cover another label or point, unless it must be. */
function placeLabel(taken, x, y, text, width, isNeeded) {
  const w = text.length * 7.4 + LABELS_APART, isLeft = x + 10 + w > width;
  for (const dy of [-10, 20, 4, -24, 34]) {
    const box = { left: isLeft ? x - 10 - w : x + 10, top: y + dy - 12 };
    if (box.left < 0 || box.top < 0)
      continue;
    if (taken.every(t => box.left > t.left + t.w || box.left + w < t.left || Math.abs(box.top - t.top) > 15)) {
      taken.push({ left: box.left, top: box.top, w });
      return svg('text', { x: isLeft ? x - 10 : x + 10, y: y + dy, 'text-anchor': isLeft ? 'end' : 'start' }, text);
    }
  }
  return !isNeeded ? null
    : svg('text', { x: isLeft ? x - 12 : x + 12, y: y - 14, 'text-anchor': isLeft ? 'end' : 'start' }, text);
}

/* Times run over decades: from a few calls to one a request. Ticks are at 1, 10, 100 ... and between them if few. */
function timeTicks(least, most) {
  const ticks = [], steps = most / least > 300 ? [1] : most / least > 12 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  for (let power = Math.pow(10, Math.floor(Math.log10(least))); power <= most; power *= 10)
    ticks.push(...steps.map(step => step * power).filter(t => t >= least && t <= most));
  return ticks;
}

function frontierAxes(box, unit, mostBytesHere) {
  const parts = [];
  for (const t of ticksTo(mostBytesHere / unit.bytes, 5)) {
    const y = box.y(t * unit.bytes);
    parts.push(svg('line', { class: 'grid', x1: box.left, x2: box.right, y1: y, y2: y }),
      svg('text', { class: 'tick', x: box.left - 6, y: y + 4, 'text-anchor': 'end' }, t));
  }
  let free = box.left;               /* where the next tick has room for its text */
  for (const t of timeTicks(box.leastTime, box.mostTime)) {
    const x = box.x(t);
    parts.push(svg('line', { class: 'grid', x1: x, x2: x, y1: box.top, y2: box.bottom }));
    if (x < free)
      continue;
    parts.push(svg('text', { class: 'tick', x, y: box.bottom + 18, 'text-anchor': 'middle' }, timeText(t)));
    free = x + 60;
  }
  parts.push(svg('text', { class: 'tick', x: (box.left + box.right) / 2, y: box.bottom + 38, 'text-anchor': 'middle' },
    'modelled driver time, on a logarithmic scale'),
  svg('text', { class: 'tick', x: 0, y: 14 }, 'of the card at the peak, ' + unit.name));
  return parts;
}

function pointMark(p, box, isOnFront, isFirst) {
  const isBest = isRecommended(p);
  const mark = svg('circle', { class: 'point' + (isOnFront ? ' on-front' : '') + (isBest ? ' best' : ''),
    cx: box.x(p.time), cy: box.y(p.bytes), r: isBest ? 8 : isOnFront ? 6 : 5, tabindex: isFirst ? 0 : -1,
    role: 'button', 'aria-label': pointText(p) });
  const say = () => { byId('frontier-says').textContent = pointText(p); };
  mark.addEventListener('focus', say);
  mark.addEventListener('mouseenter', say);
  mark.addEventListener('click', () => {
    const run = p.rows.find(runOfRow);
    if (run !== undefined)
      chooseRun(run);
    byId('frontier-says').textContent = pointText(p) +
      (run === undefined ? '. This run is not among those in detail.' : '');
  });
  return mark;
}

function walkMarks(event) {
  const marks = [...event.currentTarget.querySelectorAll('.point')];
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const at = marks.indexOf(document.activeElement);
  if (at < 0 || (step === undefined && event.key !== 'Enter' && event.key !== ' '))
    return;
  event.preventDefault();
  if (step === undefined)
    return void marks[at].dispatchEvent(new Event('click'));
  const next = marks[(at + step + marks.length) % marks.length];
  marks[at].setAttribute('tabindex', -1);
  next.setAttribute('tabindex', 0);
  next.focus();
}

function drawFrontier() {
  const host = byId('frontier'), points = pointsOf(rowsHere()).sort((a, b) => a.time - b.time || a.bytes - b.bytes);
  byId('frontier-says').textContent = '';
  byId('frontier-part').hidden = points.length === 0;
  byId('frontier-note').hidden = byId('frontier-says').hidden = points.length < 2;
  if (points.length < 2) {
    host.replaceChildren(element('p', { textContent: points.length === 0 ? ''
      : pointText(points[0]) + '. No other run that gets through differs in either.' }));
    return;
  }
  const width = Math.max(300, host.clientWidth), height = 340;
  const mostBytesHere = Math.max(...points.map(p => p.bytes)) * 1.08;
  const times = points.map(p => p.time).filter(t => t > 0);
  const box = { left: 58, right: width - 14, top: 26, bottom: height - 48,
    leastTime: Math.min(...times, 1e9) / 1.6, mostTime: Math.max(...times, 1) * 1.6 };
  box.x = t => box.left + (box.right - box.left) * Math.log(Math.max(t, box.leastTime) / box.leastTime) /
    Math.log(box.mostTime / box.leastTime);
  box.y = b => box.bottom - (box.bottom - box.top) * b / mostBytesHere;
  const front = frontOf(points), taken = [], labels = [];
  for (const p of [...front, ...points.filter(q => !front.includes(q))])
    taken.push({ left: box.x(p.time) - 7, top: box.y(p.bytes) - 8, w: 14 });
  const named = front.concat(points.length <= 12 ? points.filter(q => !front.includes(q)) : []);
  named.sort((a, b) => isRecommended(b) - isRecommended(a));         /* its label is not to be crowded out */
  for (const p of named) {
    const more = p.names.length > 1 ? ' +' + (p.names.length - 1) : '';
    const label = placeLabel(taken, box.x(p.time), box.y(p.bytes),
      shortened(shortLabel(p.names[0]), Math.floor(width / 25)) + more, width, isRecommended(p));
    if (label)
      labels.push(label);
  }
  const path = front.map((p, i) => (i === 0 ? 'M' : 'H' + box.x(p.time) + 'V') +
    (i === 0 ? box.x(p.time) + ' ' : '') + box.y(p.bytes)).join('') + 'H' + box.right;
  const chart = svg('svg', { viewBox: '0 0 ' + width + ' ' + height, role: 'group',
    'aria-label': 'Memory against driver time; arrow keys move from point to point, Enter opens its run' },
  ...frontierAxes(box, unitOf(mostBytesHere), mostBytesHere), svg('path', { class: 'front', d: path }),
  ...points.map((p, i) => pointMark(p, box, front.includes(p), i === 0)), ...labels);
  chart.addEventListener('keydown', walkMarks);
  host.replaceChildren(chart, element('p', { className: 'quiet', textContent: 'Filled: on the line; large: the ' +
    'recommended run of this trace; hollow: another point beats it.' }));
}
