/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reserved memory of the chosen runs over time, on one scale, as steps; with live data, the card, marks and refusals.
 * dygraphs draws the lines and zooms. The data for it are made anew for each window, so that every step is exact as
 * soon as there is room for it.
 */

/* Of the runs of a case, by their order: colours differ in lightness, dashes differ too. */
const RUN_DASHES = [[], [9, 3], [3, 3], [12, 3, 2, 3], [6, 2], [2, 2]];
const LIVE_DASH = [1, 2];
const PIXELS_AT_REST = 2, PIXELS_MOVING = 4;     /* that a row of the chart stands for */
const REST_MS = 150;                 /* the window rests if it has not moved for so long */
const chart = { graph: null, width: 0, timer: 0 };

const runsHere = () => [...scene.runs.values()];
const isShown = i => (view.hidden >> i) % 2 === 0;
const shownRuns = () => runsHere().filter((_, i) => isShown(i));

/* ---- values ---- */

/* The least and most of a gauge over [from, to), by the buckets that lie there. */
function courseExtremes(course, gauge, from, to) {
  const { least, most } = course[gauge], first = Math.max(0, upperBound(course.moment, from) - 1);
  const found = { least: least[first], most: most[first] };
  for (let i = first + 1; i < course.n && course.moment[i] < to; i++) {
    found.least = Math.min(found.least, least[i]);
    found.most = Math.max(found.most, most[i]);
  }
  return found;
}

/* What is drawn: { steps } where every change is known, else { course, gauge }; and until which moment. */
function linesHere() {
  const trace = scene.trace;
  const lines = shownRuns().map(run => ({ name: 'r' + run.row, steps: run.reserved, course: run.course,
    gauge: 'reserved', end: run.n_moments }));
  if (scene.recorded?.line)
    lines.push({ name: 'recorded', steps: scene.trace.reserved, end: trace.n_events });
  const longest = runsHere().reduce((a, b) => b.n_moments > a.n_moments ? b : a);
  return [...lines, { name: 'live', steps: trace.n_drawn === trace.n_requests ? scene.liveSteps : null,
    course: longest.course, gauge: 'requested', end: trace.n_events }];
}

const extremesOfLine = (line, from, to) =>
  line.steps ? extremesOf(line.steps, from, to) : courseExtremes(line.course, line.gauge, from, to);

/* The moments at which lines are read: every change if there is room, else evenly spaced ones. */
function momentsIn(lines, from, to, room) {
  const moments = new Set([from, to]);
  for (const line of lines) {
    const at = line.steps ? line.steps.at : line.course.moment, end = upperBound(at, to);
    for (let i = Math.max(0, upperBound(at, from) - 1); i < end; i++) {
      moments.add(Math.max(from, at[i]));
      if (moments.size > room)
        return Array.from({ length: room + 1 }, (_, k) => Math.floor(from + (to - from) * k / room));
    }
    if (line.end < to)
      moments.add(Math.max(from, line.end + 1));
  }
  return [...moments].sort((a, b) => a - b);
}

/* Rows of a chart: [moment, [least, most] of each line], null after a line's end. At most one for so many pixels. */
function rowsOfChart(lines, unit, pixels) {
  const span = view.to - view.from, last = scene.trace.n_events;
  const from = Math.max(0, Math.floor(view.from - span / 10)), to = Math.min(last, Math.ceil(view.to + span / 10));
  const moments = [...new Set(momentsIn(lines, from, to, Math.max(200, Math.round(chart.width / pixels))))];
  return moments.map((moment, i) => [moment, ...lines.map(line => {
    if (moment > line.end)
      return null;
    const { least, most } = extremesOfLine(line, moment, moments[i + 1] ?? moment + 1);
    return [least / unit.bytes, most / unit.bytes];
  })]);
}

/* ---- what lies under the lines ---- */

const capacityOf = run => data.rows[run.row][ROW.capacity];

/* Horizontal lines: the card, where it is near enough, and what no allocator can do without. */
function levelsHere() {
  const cards = [...new Set(shownRuns().map(capacityOf))].filter(c => c !== null && c <= 3 * chart.most);
  const { trace_peak_requested_bytes: requested, trace_live_peak_bytes: live } = data.cases[view.case];
  return [...cards.map(bytes => ({ bytes, text: roomText(bytes), dash: [] })),
    { bytes: live ?? requested, text: (live > requested ? 'live peak with what was refused' : 'live peak') +
      ': no allocator needs less', dash: [4, 4] }];
}

function strokeLine(context, x0, y0, x1, y1, dash) {
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/* Text on a ground of its own, which stays readable on top of lines. */
function writeOver(context, text, x, y) {
  const width = context.measureText(text).width, left = context.textAlign === 'end' ? x - width : x;
  context.save();
  context.globalAlpha = 0.85;
  context.fillStyle = color('back');
  context.fillRect(left - 3, y - 11, width + 6, 14);
  context.restore();
  context.fillText(text, x, y);
}

/* Is drawn before the lines. */
function drawUnderlay(context, area, graph) {
  context.save();
  context.strokeStyle = color('quiet');
  for (const mark of scene.trace.marks) {
    const x = Math.round(graph.toDomXCoord(mark.moment)) + 0.5;
    if (x >= area.x && x <= area.x + area.w)
      strokeLine(context, x, area.y + area.h - 9, x, area.y + area.h, []);
  }
  context.strokeStyle = color('text');
  for (const { bytes, dash } of levelsHere()) {
    const y = yOfLevel(graph, bytes);
    strokeLine(context, area.x, y, area.x + area.w, y, dash);
  }
  context.restore();
}

const yOfLevel = (graph, bytes) => Math.round(graph.toDomYCoord(bytes / chart.unit.bytes)) + 0.5;

/* A plugin of dygraphs: words and crosses come on top of the lines. */
const wordsOnTop = {
  activate: () => ({
    didDrawChart({ drawingContext: context, dygraph: graph }) {
      const area = graph.getArea();
      context.save();
      context.font = '12px system-ui, sans-serif';
      context.strokeStyle = context.fillStyle = color('text');
      drawRefusals(context, area, graph, nameLevels(context, area, graph));
      context.restore();
    },
  }),
};

/* Whether a box of pixels is free of what is drawn: the lines' rows, and the boxes that stand already. */
function isFreeBox(graph, box, taken) {
  const rows = bands.get(byId('timeline')), from = graph.toDataXCoord(box.left), to = graph.toDataXCoord(box.right);
  const high = graph.toDataYCoord(box.top), low = graph.toDataYCoord(box.bottom), first = pair => pair?.[1] ?? -1;
  const begin = Math.max(0, upperBound(rows, from, row => row[0]) - 1), end = upperBound(rows, to, row => row[0]);
  for (let i = begin; i < end; i++)
    for (let k = 1; k < rows[i].length; k++) {
      const next = i + 1 < end ? first(rows[i + 1][k]) : first(rows[i][k]), here = first(rows[i][k]);
      if (rows[i][k] && Math.min(rows[i][k][0], here, next < 0 ? here : next) <= high && Math.max(here, next) >= low)
        return false;
    }
  return taken.every(there => box.left > there.right || box.right < there.left || box.top > there.bottom ||
    box.bottom < there.top);
}

/* Writes a text at the first of some places, [left, base], where it covers nothing; at the first of all if there is no
 * such place and it `must` be said. */
function writeFree(context, graph, text, places, taken, must) {
  const { x: least, w } = graph.getArea(), width = context.measureText(text).width;
  const boxes = places.map(([x, y]) => ({ x, y, left: x - 3, right: x + width + 3, top: y - 12, bottom: y + 3 }))
    .filter(box => box.left >= least && box.right <= least + w && box.top >= 0);
  const box = boxes.find(one => isFreeBox(graph, one, taken)) ?? (must ? boxes[0] : undefined);
  if (!box)
    return;
  writeOver(context, text, box.x, box.y);
  taken.push(box);
}

/* Names of levels stand above or below their lines, where no curve is. Returns where they stand. */
function nameLevels(context, area, graph) {
  const said = levelsHere().map(({ bytes }) => ({ left: area.x, right: area.x + area.w, top: yOfLevel(graph, bytes),
    bottom: yOfLevel(graph, bytes) }));
  levelsHere().forEach(({ bytes, text }, i) => {
    const y = yOfLevel(graph, bytes), room = area.w - context.measureText(text).width - 12;
    const across = [0, 1, 2, 3, 4, 5, 6].map(k => area.x + 6 + room * k / 6);
    writeFree(context, graph, text, [y - 4, y + 13].flatMap(base => across.map(x => [x, base])), said, i === 0);
  });
  return said;
}

/* A cross at the top of the run's line, and once the size of the request, where it covers nothing. */
function drawRefusals(context, area, graph, names) {
  const said = [];
  context.lineWidth = 2;
  for (const run of shownRuns())
    for (const [moment, bytes] of run.refusals.slice(0, 20)) {
      const x = graph.toDomXCoord(moment), most = extremesOfLine({ steps: run.reserved, course: run.course,
        gauge: 'reserved' }, moment, moment + 1).most, y = graph.toDomYCoord(most / chart.unit.bytes);
      if (x < area.x || x > area.x + area.w)
        continue;
      strokeLine(context, x - 6, y - 6, x + 6, y + 6, []);
      strokeLine(context, x - 6, y + 6, x + 6, y - 6, []);
      if (said.some(there => Math.abs(there.x - x) <= 150 && Math.abs(there.y - y) <= 16))
        continue;
      said.push({ x, y });
      const text = 'refused: ' + bytesText(bytes), left = x - 12 - context.measureText(text).width;
      const bases = [0, 1, 2, 3, 4, 5, 6].map(k => y + 18 + 15 * k);
      writeFree(context, graph, text, [...bases.map(base => [left, base]), [left, y - 8], ...bases.map(base =>
        [x + 12, base]), ...bases.map(base => [left - 60, base])], names, true);
    }
}

/* ---- the chart ---- */

function dashKey(stroke, dash, width) {
  const line = svg('line', { x1: 1, x2: 35, y1: 7, y2: 7, stroke, 'stroke-width': width, 'stroke-dasharray':
    dash.join(' ') });
  return svg('svg', { width: 36, height: 14, 'aria-hidden': true }, line);
}

/* As it ran and what is recommended look as in the picture. */
const runLook = i => lookOf(runsHere()[i].row) ??
  { color: color('run-' + i % RUN_DASHES.length), dash: RUN_DASHES[i % RUN_DASHES.length] };

function drawRunKeys() {
  const keys = runsHere().map((run, i) => {
    const box = element('input', { type: 'checkbox', checked: isShown(i) });
    box.addEventListener('change', () => show({ hidden: view.hidden ^ (1 << i) }));
    return element('label', { className: 'line-key' }, box, dashKey(runLook(i).color, runLook(i).dash, 3),
      breakable(settingOf(data.rows[run.row])), element('strong', { textContent: roleOf(run.row) }));
  });
  if (scene.recorded?.line)
    keys.push(element('span', { className: 'line-key' }, dashKey(lookOf(RECORDED).color, lookOf(RECORDED).dash, 3),
      'recorded', element('strong', { textContent: roleOf(RECORDED) })));
  byId('run-keys').replaceChildren(...keys, element('span', { className: 'line-key' },
    dashKey(color('live'), LIVE_DASH, 3), 'live data'));
}

/* How a line of the chart looks. */
function lineStyle(line) {
  if (line.name === 'recorded')
    return { name: line.name, width: 2.5, ...lookOf(RECORDED) };
  const i = runsHere().findIndex(run => 'r' + run.row === line.name);
  return i < 0 ? { name: line.name, color: color('live'), dash: LIVE_DASH, width: 2 }
    : { name: line.name, width: 2.5, ...runLook(i) };
}

const BAND_ALPHA = 0.25;
const bands = new WeakMap();         /* by host of a chart: the rows that it shows */

/* What dygraphs draws of the rows: the most of each. */
function linesOfRows(host, rows) {
  bands.set(host, rows);
  return rows.map(([moment, ...pairs]) => [moment, ...pairs.map(pair => pair && pair[1])]);
}

/* The shade from most to least within each row. As rectangles, because dygraphs' own path takes longer than a frame. */
function drawBands(context, area, graph, host, lines) {
  const rows = bands.get(host), y = graph.toDomYCoord(0), scale = y - graph.toDomYCoord(1);
  const x = rows.map(row => Math.round(graph.toDomXCoord(row[0])));
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.w, area.h);
  context.clip();
  context.globalAlpha = BAND_ALPHA;
  lines.forEach((line, k) => {
    context.fillStyle = line.color;
    for (let i = 0; i + 1 < rows.length; i++) {
      const pair = rows[i][k + 1];
      if (pair && pair[0] < pair[1] && x[i] < x[i + 1])
        context.fillRect(x[i], y - pair[1] * scale, x[i + 1] - x[i], (pair[1] - pair[0]) * scale);
    }
  });
  context.restore();
}

/* Draws a line as one path, so that its dashes go on from step to step: dygraphs begins them anew with each. */
function plotSteps({ points, drawingContext: context, dygraph, setName, color: stroke, strokeWidth }) {
  let before = null;
  context.save();
  context.strokeStyle = stroke;
  context.lineWidth = strokeWidth;
  context.setLineDash(dygraph.getOption('strokePattern', setName) ?? []);
  context.beginPath();
  for (const { canvasx: x, canvasy: y, yval } of points) {
    const isThere = yval !== null && Number.isFinite(y);
    if (isThere && before !== null)
      context.lineTo(x, before);
    if (isThere)
      context[before === null ? 'moveTo' : 'lineTo'](x, y);
    before = isThere ? y : null;
  }
  context.stroke();
  context.restore();
}

/* A chart of steps over events. Rows are [moment, [least, most] of each line]; lines are { name, color, dash, width }.
 * `options` are dygraphs' own, beside the usual ones, `along` those of the axis of events; `under` draws under the
 * lines. */
function stepChart(host, rows, lines, unit, { under, along, ...options }) {
  const series = Object.fromEntries(lines.map(line => [line.name, { color: line.color, strokeWidth: line.width,
    strokePattern: line.dash.length > 0 ? line.dash : null }]));
  return new Dygraph(host, linesOfRows(host, rows), {
    labels: ['at', ...lines.map(line => line.name)], series, stepPlot: true, plotter: plotSteps,
    legend: 'never', animatedZooms: false, ylabel: unit.name, xlabel: 'events done', highlightCircleSize: 0,
    rightGap: 12, axisLabelColor: color('text'), axisLineColor: color('line'), gridLineColor: color('line'),
    axisLabelFontSize: 12, xLabelHeight: 22, axes: {
      x: { axisLabelFormatter: v => grouped(v), pixelsPerLabel: 90, ...along },
      y: { axisLabelFormatter: v => String(Math.round(v * 1000) / 1000), axisLabelWidth: 56 } }, ...options,
    underlayCallback(context, area, graph) {
      drawBands(context, area, graph, host, lines);
      under?.(context, area, graph);
    },
  });
}

/* Ticks count events, or say the time at these events, or the step that begins there. */
function tickText(moment) {
  if (view.axis === 'step')
    return grouped(upperBound(scene.trace.steps, moment));
  return view.axis === 'time' ? timeText(timeAt(moment)) : grouped(moment);
}

const AXIS_TITLES = { event: 'events done', time: 'time since the first event',
  step: 'whole steps, by where they begin' };
const TICKS_APART = 90;              /* pixels */

/* dygraphs asks for ticks between two moments: of steps there is one where a step begins, as far as there is room. */
function stepTicks(from, to, pixels) {
  const { steps } = scene.trace, first = upperBound(steps, from - 1), end = upperBound(steps, to);
  const rough = (end - first) * TICKS_APART / pixels, power = Math.pow(10, Math.floor(Math.log10(Math.max(1, rough))));
  const each = Math.max(1, [1, 2, 5, 10].map(k => k * power).find(n => n >= rough) ?? power), ticks = [];
  for (let i = first; i < end && i < steps.length - 1; i++)
    if (i === 0 || (i + 1) % each === 0)
      ticks.push({ v: steps[i], label: tickText(steps[i]) });
  return ticks;
}

/* The time of the bucket that holds a moment. */
function timeAt(moment) {
  const course = runsHere()[0].course;
  return course.time[Math.max(0, upperBound(course.moment, moment) - 1)];
}

/* What dygraphs' own zooming and panning leads to: along the time alone. A double click shows everything. */
function chartModel() {
  const all = () => show({ from: 0, to: scene.trace.n_events }), usual = { ...Dygraph.defaultInteractionModel };
  for (const name of ['touchstart', 'touchmove', 'touchend'])
    delete usual[name];              /* touch.js has its own */
  return { ...usual, dblclick: all, mousemove(event, graph, context) {
    context.dragStartY = event.pageY - (context.py ?? 0);        /* a drag that leans is one along the time */
    usual.mousemove(event, graph, context);
  } };
}

/* Whatever a drag or a pinch made of the other axis is undone. */
function keepHeight(graph) {
  const [least, most] = graph.yAxisRange();
  if (least !== 0 || Math.abs(most - chart.height) > chart.height * 1e-9)
    graph.updateOptions({ valueRange: [0, chart.height] });
}

function windowChanged(graph) {
  keepHeight(graph);
  const [from, to] = graph.xAxisRange(), last = scene.trace.n_events, span = Math.min(last, Math.max(1, to - from));
  const start = Math.min(last - span, Math.max(0, from));
  show({ from: start, to: start + span });
}

function drawChart() {
  byId('axis').value = view.axis;
  const lines = linesHere(), host = byId('timeline');
  const most = Math.max(...lines.map(l => extremesOfLine(l, 0, Infinity).most), KIB);
  chart.unit = unitOf(most);
  chart.most = most;
  const top = Math.max(most, ...levelsHere().map(l => l.bytes));
  chart.height = top * 1.1 / chart.unit.bytes;
  chart.width = host.clientWidth;
  clearTimeout(chart.timer);
  chart.graph?.destroy();
  chart.graph = stepChart(host, rowsOfChart(lines, chart.unit, PIXELS_AT_REST), lines.map(lineStyle), chart.unit, {
    valueRange: [0, chart.height], dateWindow: [view.from, view.to],
    xlabel: AXIS_TITLES[view.axis],
    along: { axisLabelFormatter: tickText, ...(view.axis === 'step' ? { ticker: stepTicks } : {}) },
    interactionModel: chartModel(), under: drawUnderlay, plugins: [wordsOnTop],
    clickCallback: (event, x) => show({ at: clampMoment(x) }),
    drawCallback: (graph, isFirst) => { if (!isFirst) windowChanged(graph); },
  });
}

const clampMoment = x => Math.min(scene.trace.n_events, Math.max(0, Math.round(x)));

function fillChart(pixels) {
  const rows = rowsOfChart(linesHere(), chart.unit, pixels);
  chart.graph.updateOptions({ file: linesOfRows(byId('timeline'), rows), dateWindow: [view.from, view.to] });
}

/* Only the window has changed: the chart stays, its data do not. More rows than these take dygraphs longer than a
 * frame, so the rest come when the window rests. */
function moveChart() {
  clearTimeout(chart.timer);
  fillChart(PIXELS_MOVING);
  chart.timer = setTimeout(() => fillChart(PIXELS_AT_REST), REST_MS);
}

function listenToChart() {
  const host = byId('timeline');
  host.addEventListener('pointermove', event => event.buttons > 0 ? hideTip()
    : showTip(event, timeTip(momentOfX(event.clientX - host.getBoundingClientRect().left))));
  host.addEventListener('pointerleave', hideTip);
  listenToFingers(host, { pinch: pinchTime, slide: pixels => panTime(-pixels / plotArea().w) });
}

/* Two fingers zoom along the time: what is between them stays there. */
function pinchTime(factor, grip, before) {
  const left = byId('plots').getBoundingClientRect().left;
  zoomTimeAt(factor, momentOfX(before.x - left));
  panTime((before.x - grip.x) / plotArea().w);
}

/* The part of the chart's width that is the plot: { x, w } in pixels. */
const plotArea = () => chart.graph.getArea();

function momentOfX(x) {
  const { x: left, w } = plotArea();
  return clampMoment(view.from + (view.to - view.from) * (x - left) / w);
}

function xOfMoment(moment) {
  const { x: left, w } = plotArea();
  return left + w * (moment - view.from) / (view.to - view.from);
}

/* ---- the cursor ---- */

function drawCursor() {
  const x = xOfMoment(view.at), { x: left, w } = plotArea(), line = byId('cursor');
  line.hidden = x < left - 1 || x > left + w + 1;
  line.style.transform = 'translateX(' + x + 'px)';
  const slider = byId('at');
  slider.max = scene.trace.n_events;
  slider.value = view.at;
  const text = cursorText();
  slider.setAttribute('aria-valuetext', text);
  byId('at-says').textContent = text;
}

/* In the chart's unit, so that figures in one sentence compare. */
const chartText = bytes => (bytes / chart.unit.bytes).toFixed(chart.unit.digits) + ' ' + chart.unit.name;

function cursorText() {
  const parts = shownRuns().map(run => {
    if (view.at > run.n_moments)
      return settingOf(data.rows[run.row]) + ' has ended';
    const { least, most } = extremesOfLine({ steps: run.reserved, course: run.course, gauge: 'reserved' }, view.at,
      view.at + 1);
    return settingOf(data.rows[run.row]) + ' ' + (least === most ? '' : 'up to ') + chartText(most);
  });
  if (scene.recorded?.line)
    parts.unshift('recorded ' + chartText(valueAt(scene.trace.reserved, view.at)));
  const live = linesHere().pop(), held = extremesOfLine(live, view.at, view.at + 1);
  const text = momentText(scene.trace, view.at);
  return text[0].toUpperCase() + text.slice(1) + ' (' + timeText(timeAt(view.at)) + '): ' +
    (held.least === held.most ? '' : 'up to ') + chartText(held.most) +
    ' live; reserved: ' + parts.join(', ') + '.';
}

/* What the pointer is at: the moment, what is live, what each run that is shown reserves. */
function timeTip(moment) {
  const lines = linesHere(), text = line => {
    const { least, most } = extremesOfLine(line, moment, moment + 1);
    return (least === most ? '' : 'up to ') + exactText(most);
  };
  return [momentText(scene.trace, moment) + ': ' + text(lines.at(-1)) + ' live',
    ...shownRuns().map((run, i) => (moment > run.n_moments ? 'ended: ' : text(lines[i]) + ' reserved: ') +
      roleText(run.row)), ...(scene.recorded?.line
    ? [exactText(valueAt(scene.trace.reserved, moment)) + ' reserved: recorded (' + roleOf(RECORDED) + ')'] : [])];
}

/* Keeps the cursor in the window by moving the window. */
function moveCursor(moment) {
  const at = clampMoment(moment), span = view.to - view.from;
  if (at >= view.from && at <= view.to)
    show({ at });
  else
    show({ at, from: Math.max(0, Math.min(scene.trace.n_events - span, at - span / 2)),
      to: Math.min(scene.trace.n_events, Math.max(span, at + span / 2)) });
}

/* Zooms by a factor around the cursor. */
function zoomTime(factor) {
  const last = scene.trace.n_events, span = Math.min(last, Math.max(8, (view.to - view.from) * factor));
  const from = Math.max(0, Math.min(last - span, view.at - span / 2));
  show({ from, to: from + span });
}

/* Zooms by a factor; a moment stays where it is. */
function zoomTimeAt(factor, moment) {
  const last = scene.trace.n_events, before = view.to - view.from, span = Math.min(last, Math.max(8, before * factor));
  const from = Math.max(0, Math.min(last - span, moment - (moment - view.from) * span / before));
  show({ from, to: from + span });
}
