/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where everything lies, for two runs side by side, at the cursor. Memory is written as text is: line by line, so many
 * bytes a line, the same for both runs. A segment keeps its place as long as it lives (lives.js, packMemory).
 */

const MAP_LINE = 13, MAP_GAP = 3, MAP_LINES = 26, MAP_ZOOM_MOST = 4096;
const maps = {
  a: { canvas: 'map-a', says: 'map-a-says', top: 'top' }, b: { canvas: 'map-b', says: 'map-b-says', top: 'topB' },
};

/* The first byte that a map shows. */
const topOf = which => view[maps[which].top];

const bytesALine = () => Math.max(...runsAB().map(run => run.extent), 1) / MAP_LINES / view.zoom;

/* ---- drawing ---- */

function hatch(context, back, ink) {
  const tile = element('canvas', { width: 6, height: 6 }), pen = tile.getContext('2d');
  pen.fillStyle = back;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = ink;
  for (const x of [-6, 0, 6]) {
    pen.moveTo(x, 6);
    pen.lineTo(x + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

/* Fills the bytes [from, to) of the packed memory, line by line. A pen is { context, width, top }. */
function fillSpan({ context, width, top }, from, to, fill) {
  const line = bytesALine(), first = Math.max(0, Math.floor((from - top) / line));
  const last = Math.min(MAP_LINES - 1, Math.floor((to - top) / line));
  context.fillStyle = fill;
  for (let i = first; i <= last; i++) {
    const start = Math.max(from - top, i * line), end = Math.min(to - top, (i + 1) * line);
    if (end > start)
      context.fillRect((start - i * line) / line * width, i * (MAP_LINE + MAP_GAP), (end - start) / line * width,
        MAP_LINE);
  }
}

/* Draws a line at byte `at`, where two things meet. */
function drawEdge({ context, width, top }, at, fill) {
  const line = bytesALine(), i = Math.floor((at - top) / line);
  if (i < 0 || i >= MAP_LINES)
    return;
  context.fillStyle = fill;
  context.fillRect((at - top - i * line) / line * width, i * (MAP_LINE + MAP_GAP), 1, MAP_LINE);
}

/* Whether requests are missing from the maps: then what looks free may be in use. */
const isPartial = () => scene.trace.n_drawn < scene.trace.n_requests;

function drawPiece(pen, run, { piece, blocks, mapped }, fills) {
  const trace = scene.trace, offset = piece.place - piece.addr;
  const free = isPartial() ? fills.unknown : blocks.length > 0 ? fills.hole : fills.cached;
  if (piece.kind !== MEMORY_RANGE)
    fillSpan(pen, piece.place, piece.place + piece.extent, free);
  for (const m of mapped)
    fillSpan(pen, m.addr + offset, m.addr + m.bytes + offset, free);
  const isLarge = bytesALine() / pen.width;        /* bytes a pixel */
  for (const i of blocks) {
    const at = run.addr[i] + offset, end = at + run.block[i];
    fillSpan(pen, at, end, trace.freed[i] <= view.at ? fills.pending : cssOf(colorOfRequest(i)));
    if (run.block[i] > 4 * isLarge)
      drawEdge(pen, end - isLarge, fills.back);
  }
  drawEdge(pen, piece.place, fills.edge);
}

/* The selected request once more, so that a small one is seen too. */
function drawChosen(pen, run) {
  const i = view.request;
  if (i < 0 || !run.addr[i] || scene.trace.born[i] > view.at || scene.trace.ended[i] <= view.at)
    return;
  const at = placeOfChosen(run), pixel = bytesALine() / pen.width;
  if (at === undefined)
    return;
  fillSpan(pen, at - 2 * pixel, at + Math.max(run.block[i], pixel) + 2 * pixel, color('text'));
  fillSpan(pen, at, at + Math.max(run.block[i], pixel), color('chosen'));
}

function mapFills(context) {
  const back = color('back');
  return { back, edge: color('text'), hole: hatch(context, back, color('quiet')), cached: color('cached'),
    unknown: color('rest'),
    pending: hatch(context, color('pending'), color('text')) };
}

function drawMap(which) {
  const canvas = byId(maps[which].canvas), run = scene.runs.get(view[which]);
  const width = canvas.clientWidth, height = MAP_LINES * (MAP_LINE + MAP_GAP),
    dense = Math.min(2, devicePixelRatio || 1);
  canvas.parentElement.hidden = !run;
  if (!run || width === 0)
    return;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.scale(dense, dense);
  if (view.at > run.n_moments) {
    byId(maps[which].says).textContent = 'This run ended ' + momentText(scene.trace, run.n_moments) + '.';
    return;
  }
  const fills = mapFills(context), pen = { context, width, top: topOf(which) };
  fillSpan(pen, 0, Math.max(...runsAB().map(r => r.extent)), color('panel'));
  for (const one of memoryAt(run, scene.trace, view.at))
    drawPiece(pen, run, one, fills);
  drawChosen(pen, run);
  byId(maps[which].says).textContent = mapText(run);
}

function drawMaps() {
  drawMap('a');
  drawMap('b');
  for (const key of byId('map-legend').querySelectorAll('i'))
    key.parentElement.hidden = isPartial() ? /hole|cached/.test(key.className) : key.className === 'map-unknown';
  byId('map-scale').textContent = 'A line is ' + bytesText(bytesALine()) + '; ' + (view.zoom === 1 ? 'all is shown.'
    : 'shown from byte ' + (view.top === view.topB ? bytesText(view.top) : bytesText(view.top) + ' (A) and ' +
      bytesText(view.topB) + ' (B)') + ' on.');
}

/* The state of a run's memory in words. */
function mapText(run) {
  const trace = scene.trace, holes = holesAt(run, trace, view.at);
  const isPinned = hole => hole.before >= 0 || hole.after >= 0;
  const cached = holes.filter(h => !isPinned(h)), pinned = holes.filter(isPinned);
  const sum = list => list.reduce((total, h) => total + h.bytes, 0);
  const largest = pinned.reduce((most, h) => Math.max(most, h.bytes), 0);
  const reserved = run.reserved ? valueAt(run.reserved, view.at)
    : courseExtremes(run.course, 'reserved', view.at, view.at + 1).most;
  if (isPartial())
    return bytesText(reserved) + ' reserved. Not all requests are drawn, so what is free is not told apart from what ' +
      'small requests hold.';
  return bytesText(reserved) + ' reserved. Free in it: ' + bytesText(sum(pinned)) + ' in ' + grouped(pinned.length) +
    ' holes' + (pinned.length > 0 ? ', the largest ' + bytesText(largest) : '') + '; ' + bytesText(sum(cached)) +
    ' cached, with nothing else in the segment.';
}

/* ---- pointing and moving ---- */

function byteAtPointer(which, event) {
  const box = byId(maps[which].canvas).getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / (MAP_LINE + MAP_GAP));
  return topOf(which) + (row + (event.clientX - box.left) / box.width) * bytesALine();
}

/* What lies at a byte of the packed memory: a request, or -1. */
function blockAtByte(run, byte) {
  for (const { piece, blocks } of memoryAt(run, scene.trace, view.at)) {
    const addr = byte - piece.place + piece.addr;
    if (addr < piece.addr || byte >= piece.place + piece.extent)
      continue;
    return blocks.find(i => run.addr[i] <= addr && addr < run.addr[i] + run.block[i]) ?? -1;
  }
  return -1;
}

/* Who had a free stretch last, -1: nobody that is drawn. */
function lastIn(run, { addr, bytes }) {
  const trace = scene.trace;
  let last = -1;
  for (let i = 0; i < trace.n; i++)
    if (trace.ended[i] <= view.at && run.addr[i] > 0 && run.addr[i] < addr + bytes &&
        addr < run.addr[i] + run.block[i] && (last < 0 || trace.ended[i] > trace.ended[last]))
      last = i;
  return last;
}

/* The segment at an address of a piece; of a range the pages that were mapped there together, undefined: none. */
const segmentAt = (run, piece, addr) => piece.kind !== MEMORY_RANGE ? piece : run.mapped.find(m =>
  m.born <= view.at && view.at < m.ended && m.addr <= addr && addr < m.addr + m.bytes);

/* For whom something was done at a moment: for the request that was asked for then. */
function forText(trace, moment) {
  const i = trace.born.indexOf(moment);
  return i < 0 ? '' : ' for ' + lineOf(trace, i);
}

/* Who gave a segment back: the program, or the allocator, which needs room for a request. */
function givenBackText(run, { ended }) {
  const trace = scene.trace, at = 'given back at ' + eventText(trace, ended);
  if (ended > run.n_moments)
    return 'kept to the end';
  return at + (trace.flushes.includes(ended) ? ' by the program (empty_cache; which line was not recorded)'
    : trace.born.includes(ended) ? ' to make room' + forText(trace, ended) : '');
}

/* A segment in two lines: its size, and the request that it was made for; and who gave it back. */
function segmentTip(run, segment) {
  return ['in ' + (segment.kind === MEMORY_MAPPED ? 'pages' : 'a segment') + ' of ' + exactText(segment.bytes) +
    (segment.born === 0 ? ', there from the start'
      : ', made at ' + eventText(scene.trace, segment.born) + forText(scene.trace, segment.born)),
  givenBackText(run, segment)];
}

/* What a free stretch is, in lines, and who had it last. */
function holeTip(run, hole) {
  const last = lastIn(run, hole), trace = scene.trace;
  const kind = isPartial() ? 'free, or in requests too small to be drawn: '
    : (hole.before < 0 && hole.after < 0 ? 'cached, free: ' : 'a hole, free: ');
  return [kind + exactText(hole.bytes), ...(last < 0 ? [] : ['last used by ' + lineOf(trace, last) + ', ' +
    freedText(trace, last) + (trace.freer[last] > 0 ? '' : ' (by which line was not recorded)')])];
}

/* What is no segment, in lines, and which was there last. */
function unreservedTip(run, isThere) {
  const last = [...run.pieces, ...run.mapped].filter(m => m.kind !== MEMORY_RANGE && m.ended <= view.at && isThere(m))
    .reduce((a, b) => a && a.ended >= b.ended ? a : b, undefined);
  return last ? ['not reserved; before:', ...segmentTip(run, last)] : [];
}

/* What a byte of a map is, in lines: a request, a hole or a cached segment, or what was there. */
function mapTip(run, byte) {
  if (view.at > run.n_moments)
    return [];
  const i = blockAtByte(run, byte), isWithin = m => m.place <= byte && byte < m.place + m.extent;
  const piece = run.pieces.find(m => m.born <= view.at && view.at < m.ended && isWithin(m));
  if (!piece)
    return unreservedTip(run, isWithin);
  const addr = byte - piece.place + piece.addr, segment = segmentAt(run, piece, addr);
  if (!segment)
    return unreservedTip(run, m => m.range === piece && m.addr <= addr && addr < m.addr + m.bytes);
  const hole = i < 0 && holesAt(run, scene.trace, view.at).find(h => h.addr <= addr && addr < h.addr + h.bytes);
  return [...(i >= 0 ? requestTip(i) : hole ? holeTip(run, hole) : []), ...segmentTip(run, segment)];
}

/* Moves both maps to `topFor(which)`, as far as there is something. */
function showMaps(zoom, topFor) {
  const most = Math.max(...runsAB().map(run => run.extent), 1), changes = { zoom };
  for (const which of ['a', 'b'])
    changes[maps[which].top] = Math.max(0, Math.min(most - most / zoom, topFor(which, most)));
  show(changes);
}

const zoomBy = factor => Math.min(MAP_ZOOM_MOST, Math.max(1, view.zoom * factor));

/* Zooms by a factor; nearer each map goes to where the selected request lies in it, else its middle stays. */
function zoomMap(factor) {
  const zoom = zoomBy(factor);
  showMaps(zoom, (which, most) => {
    const middle = topOf(which) + most / view.zoom / 2, chosen = placeOfChosen(scene.runs.get(view[which]));
    return (factor > 1 ? chosen ?? middle : middle) - most / zoom / 2;
  });
}

/* Zooms by a factor; what is so many bytes from the first one shown stays where it is. */
function zoomMapAt(factor, away) {
  const zoom = zoomBy(factor);
  showMaps(zoom, which => topOf(which) + away * (1 - view.zoom / zoom));
}

/* Where the selected request lies in the packed memory of a run; undefined: nowhere. */
function placeOfChosen(run) {
  const i = view.request;
  if (!run || i < 0 || !run.addr[i])
    return undefined;
  const piece = run.pieces.find(m => m.born <= view.at && view.at < m.ended && m.addr <= run.addr[i] &&
    run.addr[i] < m.addr + m.bytes);
  return piece && piece.place + run.addr[i] - piece.addr;
}

function moveMap(lines) {
  showMaps(view.zoom, which => topOf(which) + lines * bytesALine());
}

/* Left and right go from block to block by address; up and down scroll; + and - zoom. */
function walkMap(which, event) {
  const run = scene.runs.get(view[which]);
  const blocks = memoryAt(run, scene.trace, view.at).flatMap(one => one.blocks), at = blocks.indexOf(view.request);
  const moves = {
    ArrowRight: () => chooseRequest(blocks[Math.min(blocks.length - 1, at + 1)]),
    ArrowLeft: () => chooseRequest(blocks[Math.max(0, at - 1)]),
    ArrowDown: () => moveMap(4), ArrowUp: () => moveMap(-4), '+': () => zoomMap(2), '-': () => zoomMap(0.5),
    Escape: () => show({ request: -1, group: -1 }),
  };
  if (!moves[event.key])
    return;
  event.preventDefault();
  moves[event.key]();
}

function listenToMaps() {
  for (const which of ['a', 'b']) {
    const canvas = byId(maps[which].canvas), runHere = () => scene.runs.get(view[which]), here = event =>
      blockAtByte(runHere(), byteAtPointer(which, event));
    const awayFromTop = event => byteAtPointer(which, event) - topOf(which);
    canvas.addEventListener('pointermove', event => pointAt(here(event), event, mapTip(runHere(),
      byteAtPointer(which, event))));
    canvas.addEventListener('pointerleave', () => pointAt(-1));
    canvas.addEventListener('click', event => {
      const i = here(event);         /* beside what is chosen one looks at holes: the choice stays */
      if (i >= 0 || mapTip(runHere(), byteAtPointer(which, event)).length === 0)
        chooseRequest(i);
    });
    canvas.addEventListener('keydown', event => walkMap(which, event));
    listenToFingers(canvas, { pinch: (factor, { x, y }) =>
      zoomMapAt(1 / factor, awayFromTop({ clientX: x, clientY: y })) });
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && view.zoom === 1)
        return;
      event.preventDefault();
      if (event.ctrlKey)
        zoomMapAt(event.deltaY < 0 ? 1.25 : 0.8, awayFromTop(event));
      else
        moveMap(Math.sign(event.deltaY) * 3);
    }, { passive: false });
  }
}

function drawPickers() {
  for (const which of ['a', 'b']) {
    const select = byId('pick-' + which), row = view[which];
    select.replaceChildren(...runsHere().map(run => element('option', { value: run.row, textContent: shortLabel(
      settingOf(data.rows[run.row])).replace(PREFIX, '') + (isOk(data.rows[run.row]) ? '' :
      ' (' + data.rows[run.row][ROW.outcome] + ')') })));
    select.value = row;
    byId('role-' + which).textContent = scene.runs.has(row) ? roleOf(row) : '';
    select.title = scene.runs.has(row) ? roleText(row) : '';
  }
}
