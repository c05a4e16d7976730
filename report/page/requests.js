/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Every request as a shape: live requests stacked over time, the oldest at the bottom. A column of pixels shows one
 * moment, that with most live data among those that it stands for. Pixels are written directly: 200,000 requests are
 * drawn anew while a hand drags.
 */

/* While the window moves a column stands for so many pixels; the others come when it rests. */
const COLUMN_MOVING = 3;
const stackPlot = { most: 0, timer: 0 };

/* ---- colours ---- */

function channelsOf(hex) {
  return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}

const mixed = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));
const pixelOf = ([r, g, b]) => (0xff000000 | b << 16 | g << 8 | r) >>> 0;
const cssOf = ([r, g, b]) => 'rgb(' + r + ' ' + g + ' ' + b + ')';

/* By group: two shades that alternate between neighbours, and the dimmed shade of what is not selected. */
function shadesHere() {
  const back = channelsOf(color('back'));
  return Array.from({ length: GROUPS_COLOURED + 1 }, (_, i) => {
    const base = channelsOf(color('group-' + i));
    return { even: base, odd: mixed(base, back, 0.18), dim: mixed(base, back, 0.78) };
  });
}

const shadeOf = group => stackPlot.shades[Math.min(group, GROUPS_COLOURED)];

/* The colour of a request: of its group, dimmed if something else is selected. */
function colorOfRequest(i) {
  const group = scene.groups.of[i], shade = shadeOf(group);
  if (i === view.request)
    return stackPlot.chosen;
  if (view.group >= 0 && view.group !== group)
    return shade.dim;
  return i % 2 === 0 ? shade.even : shade.odd;
}

/* ---- drawing ---- */

/* The moment that each of `width` columns shows. */
function columnMoments(width) {
  const { from, to } = view, moments = new Float64Array(width), steps = scene.liveSteps;
  for (let x = 0; x < width; x++) {
    const first = Math.floor(from + (to - from) * x / width), end = Math.floor(from + (to - from) * (x + 1) / width);
    moments[x] = end - first <= 1 ? first : momentOfMost(steps, first, end);
  }
  return moments;
}

/* Writes one column: a pixel boundary is where the sum of bytes below it rounds to. */
function fillColumn(pixels, x, width, height, live, n, colors, edges, rest, restPixel) {
  const trace = scene.trace, scale = height / stackPlot.most;
  let sum = rest, y = height;
  for (let end = height - Math.round(sum * scale); y > end;)
    pixels[--y * width + x] = restPixel;
  for (let k = 0; k < n; k++) {
    const i = live[k], top = Math.max(0, height - Math.round((sum += trace.bytes[i]) * scale));
    if (y - top >= 3)
      pixels[--y * width + x] = edges[i];
    for (const pixel = colors[i]; y > top;)
      pixels[--y * width + x] = pixel;
  }
}

/* Pixels of requests, kept until the colours change. */
function colorRequests() {
  const n = scene.trace.n, colors = stackPlot.colors = new Uint32Array(n), edges = stackPlot.edges = new Uint32Array(n);
  const ink = channelsOf(color('text'));
  stackPlot.shades = shadesHere();
  stackPlot.chosen = channelsOf(color('chosen'));
  stackPlot.rest = pixelOf(channelsOf(color('rest')));
  const edgeOf = rgb => pixelOf(mixed(rgb, ink, 0.35)), pens = stackPlot.shades.map(({ even, odd, dim }) =>
    ({ lit: [pixelOf(even), pixelOf(odd)], edge: [edgeOf(even), edgeOf(odd)], dim: pixelOf(dim) }));
  for (let i = 0; i < n; i++) {
    const group = scene.groups.of[i], pen = pens[Math.min(group, GROUPS_COLOURED)];
    const isDim = view.group >= 0 && view.group !== group;
    colors[i] = isDim ? pen.dim : pen.lit[i % 2];
    edges[i] = isDim ? pen.dim : pen.edge[i % 2];
  }
  if (view.request >= 0) {
    colors[view.request] = pixelOf(stackPlot.chosen);
    edges[view.request] = edgeOf(stackPlot.chosen);
  }
}

function fillPixels(pixels, width, height) {
  const trace = scene.trace, moments = columnMoments(width), live = new Uint32Array(trace.n);
  let n = 0, next = 0;
  for (let x = 0; x < width; x++) {
    const before = next, moment = moments[x];
    for (; next < trace.n && trace.born[next] <= moment; next++)
      live[n++] = next;
    let kept = 0;
    for (let k = 0; k < n; k++)
      if (trace.freed[live[k]] > moment)
        live[kept++] = live[k];
    const isSame = x > 0 && before === next && kept === n;
    n = kept;
    if (isSame)
      for (let at = x; at < pixels.length; at += width)
        pixels[at] = pixels[at - 1];
    else
      fillColumn(pixels, x, width, height, live, n, stackPlot.colors, stackPlot.edges, restAt(trace, moment),
        stackPlot.rest);
  }
}

/* Draws columns of so many pixels; the browser widens them. */
function drawColumns(pixelsEach) {
  const canvas = byId('requests'), height = canvas.clientHeight, { x, w } = plotArea();
  const width = Math.max(1, Math.round(w / pixelsEach));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  canvas.style.marginLeft = x + 'px';
  canvas.style.width = w + 'px';
  const context = canvas.getContext('2d'), image = context.createImageData(width, height);
  stackPlot.most = chart.height * chart.unit.bytes;        /* the scale of the chart above */
  fillPixels(new Uint32Array(image.data.buffer), width, height);
  context.putImageData(image, 0, 0);
}

/* Sizes beside the stack, in the unit of the chart above. */
function drawRequestsAxis() {
  const canvas = byId('requests'), host = byId('requests-axis'), most = chart.height;
  host.style.top = canvas.offsetTop + 'px';
  host.style.width = plotArea().x - 6 + 'px';
  host.replaceChildren(...ticksTo(most, 4).filter(tick => tick < most * 0.95).map(tick => {
    const label = element('span', { textContent: tick });
    label.style.top = canvas.clientHeight * (1 - tick / most) + 'px';
    return label;
  }));
}

function drawRequests(changes) {
  const isMoving = [...changes].every(key => key === 'from' || key === 'to' || key === 'at');
  clearTimeout(stackPlot.timer);
  drawColumns(isMoving ? COLUMN_MOVING : 1);
  if (!isMoving)
    drawRequestsAxis();
  if (isMoving)
    stackPlot.timer = setTimeout(() => drawColumns(1), REST_MS);
}

/* ---- pointing ---- */

/* The request at a place of the canvas, -1: none. */
function requestAt(x, y) {
  const canvas = byId('requests'), width = canvas.width, trace = scene.trace;
  const column = Math.floor(x * width / canvas.clientWidth);
  const moment = columnMoments(width)[Math.min(width - 1, Math.max(0, column))];
  let sum = restAt(trace, moment);
  const bytes = (canvas.height - y) * stackPlot.most / canvas.height;
  for (const i of heldAt(trace, moment)) {
    if (bytes >= sum && bytes < sum + trace.bytes[i])
      return i;
    sum += trace.bytes[i];
  }
  return -1;
}

/* A request in a line. */
function requestText(i) {
  const t = scene.trace;
  return bytesText(t.bytes[i]) + ', ' + lineOf(t, i) + '; live ' +
    (t.born[i] === 0 ? 'from the start' : 'from ' + wordOfEvents() + ' ' + grouped(t.place[i])) +
    (t.freed[i] > t.n_events ? ' to the end' : ', ' + freedText(t, i)) + '.';
}

/* Arrows: left and right move the cursor, up and down choose among what is live there. */
function walkRequests(event) {
  const live = heldAt(scene.trace, view.at), at = live.indexOf(view.request);
  const step = Math.max(1, Math.round((view.to - view.from) / 200)) * (event.shiftKey ? 1 / 10 : 1);
  const moves = {
    ArrowLeft: () => moveCursor(view.at - Math.max(1, step)), ArrowRight: () => moveCursor(view.at + Math.max(1, step)),
    ArrowUp: () => chooseRequest(live[Math.min(live.length - 1, at + 1)]),
    ArrowDown: () => chooseRequest(live[at < 0 ? live.length - 1 : Math.max(0, at - 1)]),
    Escape: () => show({ request: -1, group: -1 }),
  };
  if (!moves[event.key])
    return;
  event.preventDefault();
  moves[event.key]();
}

function chooseRequest(i) {
  show({ request: i === undefined || i < 0 ? -1 : i, group: -1 });
}

/* A drag moves the cursor; a click without a drag chooses what lies there. */
function listenToRequests() {
  const canvas = byId('requests'), place = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let start = null;
  canvas.addEventListener('pointerdown', event => {
    if (event.pointerType !== 'touch')
      canvas.setPointerCapture(event.pointerId);
    start = event.isPrimary ? place(event) : null;
  });
  canvas.addEventListener('pointercancel', () => { start = null; });
  canvas.addEventListener('pointermove', event => {
    const [x, y] = place(event);
    if (event.pointerType === 'touch')
      return;                        /* fingers are heard below */
    if (start)
      show({ at: momentOfX(x + plotArea().x) });
    else
      pointAt(requestAt(x, y), event);
  });
  listenToFingers(canvas, { pinch: pinchTime, slide: (_, { x }) =>
    show({ at: momentOfX(x - byId('plots').getBoundingClientRect().left) }) });
  canvas.addEventListener('pointerup', event => {
    const [x, y] = place(event), isClick = start && Math.abs(x - start[0]) + Math.abs(y - start[1]) < 4;
    start = null;
    if (isClick) {
      show({ at: momentOfX(x + plotArea().x) });
      chooseRequest(requestAt(x, y));
    }
  });
  canvas.addEventListener('pointerleave', () => pointAt(-1));
  canvas.addEventListener('keydown', walkRequests);
  pointAt(-1);
}

/* A request at the pointer: its size, line and age. */
function requestTip(i) {
  const t = scene.trace, age = t.freed[i] > t.n_events ? 'live to the end' : freedText(t, i);
  return [exactText(t.bytes[i]), lineOf(t, i), (t.born[i] === 0 ? 'live from the start'
    : 'requested at ' + wordOfEvents() + ' ' + grouped(t.place[i])) + ', ' + age];
}

/* Says what the pointer is at, without choosing it. */
function pointAt(i, event, lines = i < 0 ? [] : requestTip(i)) {
  byId('points-at').textContent = i < 0 ? '' : requestText(i);
  if (event && lines.length > 0)
    showTip(event, lines);
  else
    hideTip();
}

/* ---- groups ---- */

const HOLD_WORDS = { at: 'at the cursor', peak: 'at the peak', refusal: 'at the refusal', growth: 'of what grew' };

/* A share in a word; what is there is not called nothing. */
const shareText = share => share === 0 ? '–' : share < 0.005 ? '<1%' : (100 * share).toFixed(0) + '%';

/* The first groups are those with most bytes times moments. Their shares are those of "who holds it" below. */
function drawGroups(held = heldNow().held) {
  const { groups } = scene.groups, shown = groups.slice(0, GROUPS_COLOURED), others = groups.length - shown.length;
  const sums = new Float64Array(groups.length), { bytes } = scene.trace;
  for (const i of held)
    sums[scene.groups.of[i]] += bytes[i];
  const total = sums.reduce((a, b) => a + b, 0) || 1;
  const buttons = shown.map((g, i) => {
    const sample = element('i');
    sample.style.background = cssOf(shadeOf(i).even);
    const button = element('button', { type: 'button', className: 'group' }, sample,
      element('span', { className: 'label', textContent: g.name }),
      element('span', { className: 'unit', textContent: shareText(sums[i] / total) }));
    button.setAttribute('aria-pressed', view.group === i);
    button.addEventListener('click', () => show({ group: view.group === i ? -1 : i, request: -1 }));
    return button;
  });
  if (others > 0) {
    const sample = element('i');
    sample.style.background = cssOf(shadeOf(GROUPS_COLOURED).even);
    const [one, many] = { size: ['size', 'sizes'], line: ['line', 'lines'] }[view.color] ?? ['category', 'categories'];
    buttons.push(element('span', { className: 'group' }, sample, grouped(others) + ' other ' +
      (others === 1 ? one : many)));
  }
  byId('groups').replaceChildren(...buttons, element('span', { className: 'quiet', textContent: 'Shares: ' +
    HOLD_WORDS[view.hold] + '.' }));
}

/* ---- the selected request ---- */

function placeText(run) {
  const i = view.request;
  if (run.addr[i] === 0)
    return settingOf(data.rows[run.row]) + ': not placed, the run had ended or refused it';
  return settingOf(data.rows[run.row]) + ': at 0x' + run.addr[i].toString(16) + ', in a block of ' +
    bytesText(run.block[i]);
}

/* Own frames bold, runs of others folded. */
function stackElement(frames) {
  const list = element('ol', { className: 'stack' });
  for (let i = 0; i < frames.length;) {
    if (frames[i].isOwn) {
      list.append(element('li', {}, element('b', { textContent: frames[i++].text })));
      continue;
    }
    let end = i;
    while (end < frames.length && !frames[end].isOwn)
      end++;
    const inner = frames.slice(i, end).map(f => element('div', { textContent: f.text }));
    const title = end - i === 1 ? frames[i].text
      : (end - i) + ' frames of libraries: ' + frameText(frames[i].text) + ' …';
    list.append(element('li', {}, element('details', {}, element('summary', { textContent: title }), ...inner)));
    i = end;
  }
  return list;
}

function drawSelection() {
  const host = byId('selection'), i = view.request, t = scene.trace;
  if (i < 0 || i >= t.n) {
    const group = scene.groups.groups[view.group];
    host.replaceChildren(element('p', { textContent: group ? group.name + ': ' + grouped(group.n) +
      ' requests are lit.' : 'Choose a request: click a shape above or a block below, or use the arrow keys.' }));
    return;
  }
  const frames = framesOf(t, t.stack[i]);
  const facts = [requestText(i), 'Exactly ' + grouped(t.bytes[i]) + ' bytes, stream ' + t.stream[i] + ', pool ' +
    t.pool[i] + '. It lives for ' + grouped(t.freed[i] - t.born[i]) +
    (t.freed[i] - t.born[i] === 1 ? ' event.' : ' events.'),
  ...runsAB().map(placeText)];
  host.replaceChildren(...facts.map(textContent => element('p', { textContent })),
    frames.length > 0 ? stackElement(frames) : element('p', { textContent: 'No stack was recorded.' }));
}

const runsAB = () => [...new Set([view.a, view.b])].map(row => scene.runs.get(row)).filter(run => run);
