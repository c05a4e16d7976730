/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The answer as one picture: live memory over the whole recording by what it is for, what is reserved for it as it ran
 * and as recommended, the card, and each refused request on top of what was live, all on one scale.
 */

const PICTURE_KINDS = 7;             /* what is of no such kind shares a colour */
/* What a program's memory is for, from the bottom of the picture up, above what is of no such kind: first what lasts.
 * The same on each page. */
const PURPOSES = ['parameters', 'optimizer state', 'gradients', 'workspaces', 'inputs', 'activations', 'temporaries'];
const PICTURE_POINT = 12;            /* pixels around the pointer that a refusal answers to */
const KEY_LEAST = 0.005, KEY_SEEN = 0.01;        /* shares: of what is live when it is told, of the picture's height */
const picture = { groups: null, kindOf: [], names: [], order: [], moments: null, tops: [], refusals: [] };

const isFromEmpty = () => data.cases[view.case].trace_starts === 'empty';

/* "as it ran", "recommended", or nothing. A replay that reserves other amounts than were recorded says so: one of a
 * recording that begins in mid-run lacks what was cached before. */
function roleOf(row) {
  const { as_it_ran: ran, recommended, of_recorded_settings: settings, recorded_reserved_bytes: recorded } =
    data.answer ?? {};
  if (row === RECORDED)
    return 'as it ran';
  if (row !== ran)
    return row === recommended ? 'recommended' : row === settings ? 'recorded settings, replayed' : '';
  if (scene.recorded ? scene.recorded.isExact : recorded === cellOf(data.rows[row], 'peak_reserved_bytes'))
    return 'as it ran';
  return recorded === 0 ? 'in the replay' : 'replayed as it ran' + (isFromEmpty() ? '' : ', from an empty cache');
}

/* How the line of what ran, or of what is recommended, looks; undefined: as any other. Where the recording tells what
 * was reserved, that is what ran. */
function lookOf(row) {
  const { as_it_ran: ran, recommended } = data.answer ?? {};
  if (row === RECORDED || row === ran && !(scene.recorded && !scene.recorded.isExact))
    return { color: color('as-it-ran'), dash: [] };
  return row === recommended ? { color: color('recommended'), dash: [6, 3] } : undefined;
}

const settingWords = row => row === RECORDED ? 'recorded'
  : settingOf(data.rows[row]).replace(/^best-fit$/, "PyTorch's defaults").replace(PREFIX, '');

/* A setting's label and what it is to the person who asks. */
const roleText = row => settingOf(data.rows[row]) + (roleOf(row) ? ' (' + roleOf(row) + ')' : '');

const ranHere = () => scene.runs.get(data.answer.as_it_ran);

/* The runs that the picture draws: as it ran, by the recording itself if that tells; then the recommended one. */
const picturedRuns = () => [scene.recorded?.line ?? ranHere(), scene.runs.get(data.answer.recommended)]
  .filter(run => run);

/* Refused requests, [moment, bytes]: those of the recording, and where it has none those of the run as it ran. */
function picturedRefusals() {
  return scene.trace.refusals.length > 0 ? scene.trace.refusals : ranHere()?.refusals ?? [];
}

/* What is live at a moment, of each kind; what is a guess of it. */
function sumsAt(moment) {
  const sums = new Float64Array(PICTURE_KINDS + 1), guessed = new Float64Array(PICTURE_KINDS + 1);
  for (const i of heldAt(scene.trace, moment)) {
    const group = picture.groups.of[i], bytes = scene.trace.bytes[i];
    sums[picture.kindOf[group]] += bytes;
    guessed[picture.kindOf[group]] += picture.groups.groups[group].name.endsWith(GUESS) ? bytes : 0;
  }
  sums[PICTURE_KINDS] += restAt(scene.trace, moment);
  return { sums, guessed };
}

/* Where the legend's figures are from: the last refusal, else the peak. */
const toldMoment = () => picturedRefusals().at(-1)?.[0] ?? scene.peak;

/* ---- values ---- */

/* Bytes of each kind in each of so many columns: a request adds to the columns from its birth to its free. */
function sumColumns(width) {
  const trace = scene.trace, last = trace.n_events, n = PICTURE_KINDS + 1;
  const moments = Float64Array.from({ length: width }, (_, x) => {
    const from = Math.floor(last * x / width), end = Math.max(from + 1, Math.floor(last * (x + 1) / width));
    return momentOfMost(scene.liveSteps, from, end);
  });
  const sums = Array.from({ length: n }, () => new Float64Array(width + 1));
  const columnOf = moment => upperBound(moments, moment - 1);
  for (let i = 0; i < trace.n; i++) {
    const kind = sums[picture.kindOf[picture.groups.of[i]]];
    kind[columnOf(trace.born[i])] += trace.bytes[i];
    kind[columnOf(trace.freed[i])] -= trace.bytes[i];
  }
  for (const kind of sums)
    for (let x = 1; x < width; x++)
      kind[x] += kind[x - 1];
  for (let x = 0; x < width; x++)
    sums[n - 1][x] += restAt(trace, moments[x]);
  return { moments, sums };
}

const GUESS = ' (a guess)';

/* Of each group the kind that it is drawn as. Where the recording has no categories a kind is a line, those first that
 * hold most at the moment that is told. */
function chooseKinds() {
  const { groups, of } = picture.groups, isByPurpose = hasCategories(scene.trace), at = new Float64Array(groups.length);
  for (const i of heldAt(scene.trace, toldMoment()))
    at[of[i]] += scene.trace.bytes[i];
  const order = groups.map((_, i) => i).sort((a, b) => at[b] - at[a] || a - b);
  picture.order = isByPurpose ? [PICTURE_KINDS, ...PURPOSES.keys()] : [...Array(PICTURE_KINDS + 1).keys()];
  picture.names = isByPurpose ? PURPOSES : order.slice(0, PICTURE_KINDS).map(group => groups[group].name);
  picture.kindOf = groups.map(({ name }) => {
    const kind = picture.names.indexOf(isByPurpose ? name.replace(GUESS, '') : name);
    return kind < 0 ? PICTURE_KINDS : kind;
  });
  const rest = new Set(groups.filter((_, group) => picture.kindOf[group] === PICTURE_KINDS).map(group =>
    group.name.replace(GUESS, '')));
  picture.names = [...picture.names, ...Array(PICTURE_KINDS - picture.names.length).fill(''),
    rest.size === 1 ? [...rest][0] : isByPurpose ? 'others' : 'other lines'];
}

function preparePicture() {
  if (!data.answer)
    return;
  picture.groups = groupsOf(scene.trace, hasCategories(scene.trace) ? 'category' : 'line');
  chooseKinds();
  picture.told = sumsAt(toldMoment());
  picture.refusals = picturedRefusals();
}

const reservedAt = (run, moment) => moment > run.n_moments ? null : extremesOfLine({ steps: run.reserved,
  course: run.course, gauge: 'reserved' }, moment, moment + 1).most;

/* The card, if it is the one that the recording or the person named. */
const pictureCard = () => data.answer.has_card ? capacityOf(ranHere() ?? runsHere()[0]) : null;

/* The highest thing that is drawn, without a card that is far above it. */
function pictureTop(sums) {
  const live = sums[0].reduce((most, _, x) => Math.max(most, sums.reduce((sum, kind) => sum + kind[x], 0)), KIB);
  const asked = picture.refusals.map(([moment, bytes]) => valueAt(scene.liveSteps, moment) + bytes);
  const lines = picturedRuns().map(run => extremesOfLine({ steps: run.reserved, course: run.course, gauge: 'reserved' },
    0, Infinity).most);
  const most = Math.max(live, ...asked, ...lines, data.answer.recorded_reserved_bytes), card = pictureCard();
  return card !== null && card <= 1.6 * most ? Math.max(card, most) : most;
}

/* ---- drawing ---- */

const kindColor = kind => color('kind-' + kind);

/* A pen knows where the plot is and how high a byte stands. */
function penOf(context, x, y, width, height, most) {
  const scale = height / (most * 1.08);
  return { context, levels: [], names: [], curves: [], left: x, top: y, width, height, right: x + width,
    base: y + height, yOf: bytes => y + height - bytes * scale,
    xOf: moment => x + width * moment / scene.trace.n_events };
}

function drawScale(pen, most) {
  const { context } = pen, unit = unitOf(most);
  context.textAlign = 'end';
  context.lineWidth = 1;
  for (const tick of ticksTo(most / unit.bytes, 5)) {
    const y = Math.round(pen.yOf(tick * unit.bytes)) + 0.5;
    context.strokeStyle = color('line');
    strokeLine(context, pen.left, y, pen.right, y, []);
    context.fillStyle = color('quiet');
    context.fillText(grouped(tick * 1000) === grouped(tick) + ',000' || tick === 0 ? grouped(tick) : String(tick),
      pen.left - 6, y + 4);
  }
  context.textAlign = 'start';
  context.fillText(unit.name, pen.left - 42, pen.top - 6);
}

const AREA_APART = 3;                /* pixels of height from which a line is drawn between two areas */

/* Areas on top of each other, with a line between them: some of their colours are alike to some eyes. */
function drawAreas(pen, sums) {
  const { context } = pen, width = sums[0].length - 1, below = new Float64Array(width);
  const high = new Float64Array(width);          /* of the area below, in pixels */
  picture.order.forEach((place, i) => {
    const kind = sums[place], lines = [];
    context.fillStyle = kindColor(place);
    for (let x = 0; x < width; x++) {
      const from = pen.yOf(below[x]), to = pen.yOf(below[x] += Math.max(0, kind[x]));
      if (from - to > 0.05)
        context.fillRect(pen.left + x, to, 1, from - to + (i > 0 ? 0.3 : 0));
      if (from - to >= AREA_APART && high[x] >= AREA_APART)
        lines.push([x, from]);
      if (from - to > 0.05)
        high[x] = from - to;
    }
    context.fillStyle = color('back');
    for (const [x, y] of lines)
      context.fillRect(pen.left + x, y - 0.5, 1, 1);
  });
  pen.areas = below;
}

const STEP_APART = 40;               /* pixels between the numbers of two steps */

/* Whole steps, below, where each begins; without any only where the recording begins and ends. */
function drawSteps(pen) {
  const { context } = pen, steps = scene.trace.steps, y = pen.base + 15;
  context.fillStyle = context.strokeStyle = color('quiet');
  context.lineWidth = 1;
  context.textAlign = 'start';
  if (steps.length < 2) {
    context.fillText("the recording's start", pen.left, y);
    context.textAlign = 'end';
    context.fillText('its end', pen.right, y);
    return;
  }
  for (let i = 0, free = pen.left; i < steps.length - 1; i++) {
    const x = pen.xOf(steps[i]);
    if (x < free)
      continue;
    strokeLine(context, x, pen.base, x, pen.base + 4, []);
    context.fillText((free === pen.left ? 'step ' : '') + grouped(i + 1), x + 2, y);
    free = x + STEP_APART;
  }
}

/* The line of a run, from step to step. */
function drawReserved(pen, run, moments, look) {
  const { context } = pen;
  context.save();
  context.strokeStyle = look.color;
  context.lineWidth = 2;
  context.setLineDash(look.dash);
  context.beginPath();
  const curve = [...moments].map(moment => reservedAt(run, moment)).map(bytes => bytes === null ? null
    : pen.yOf(bytes));
  curve.forEach((y, x) => {
    if (y === null)
      return;
    if (x === 0)
      context.moveTo(pen.left, y);
    else
      context.lineTo(pen.left + x, curve[x - 1] ?? y);
    context.lineTo(pen.left + x, y);
  });
  pen.curves.push(curve);
  context.stroke();
  context.restore();
}

const LEVEL_NAME = 200;              /* pixels of a name */

/* A line over the whole width with its name above it, at the left unless a refusal is there. */
function drawLevel(pen, bytes, text, dash) {
  const { context } = pen, y = Math.round(pen.yOf(bytes)) + 0.5;
  context.strokeStyle = context.fillStyle = color('text');
  context.lineWidth = 1.5;
  strokeLine(context, pen.left, y, pen.right, y, dash);
  pen.levels.push(y);
  const isTaken = picture.refusals.some(([moment]) => pen.xOf(moment) < pen.left + LEVEL_NAME);
  context.textAlign = isTaken ? 'end' : 'start';
  writeOver(context, text, isTaken ? pen.right - 6 : pen.left + 6, y - 5);
  const width = context.measureText(text).width, left = isTaken ? pen.right - 6 - width : pen.left + 6;
  pen.names.push({ left: left - 3, right: left + width + 3, top: y - 17, bottom: y - 1 });
}

/* A refused request stands on what was live; the last one carries its size. */
function drawRefused(pen) {
  const { context } = pen, all = picture.refusals;
  all.forEach(([moment, bytes], i) => {
    const x = Math.min(pen.right - 2, pen.xOf(moment)), live = valueAt(scene.liveSteps, moment);
    const from = pen.yOf(live), to = Math.min(from - 4, pen.yOf(live + bytes));
    context.fillStyle = context.strokeStyle = color('chosen');
    context.fillRect(x - 2, to, 4, from - to);
    context.lineWidth = 2;
    strokeLine(context, x - 6, to - 6, x + 6, to + 6, []);
    strokeLine(context, x - 6, to + 6, x + 6, to - 6, []);
    if (i < all.length - 1)
      return;
    context.textAlign = 'start';
    context.font = '600 13px system-ui, sans-serif';
    writeRefused(pen, 'refused: ' + exactText(bytes) + (all.length > 1 ? ', and ' + (all.length - 1) + ' before' : ''),
      x, to);
    context.font = PICTURE_FONT;
  });
}

/* Whether a box of pixels covers no name of a level. */
const isUnnamed = (pen, box) => pen.names.every(name => name.right < box.left || name.left > box.right ||
  name.bottom < box.top || name.top > box.bottom);

/* Whether a box of pixels covers no curve and no level, and, if `isStrict`, no area either. */
function isClear(pen, box, isStrict) {
  if (pen.levels.some(y => y > box.top && y < box.bottom) || !isUnnamed(pen, box))
    return false;
  const from = Math.max(1, Math.floor(box.left - pen.left)), to = Math.min(pen.width, Math.ceil(box.right - pen.left));
  for (let x = from; x < to; x++) {
    if (isStrict && pen.yOf(pen.areas[x]) < box.bottom)
      return false;
    for (const curve of pen.curves) {
      const y = curve[x], before = curve[x - 1] ?? y;
      if (y !== null && Math.min(y, before) - 2 < box.bottom && Math.max(y, before) + 2 > box.top)
        return false;
    }
  }
  return true;
}

/* The size of a refused request beside its cross, where it hides nothing. */
function writeRefused(pen, text, x, y) {
  const { context } = pen, width = context.measureText(text).width, isLeft = x > (pen.left + pen.right) / 2;
  const boxes = [14, 50, 90, 140, 200, 260].flatMap(away => [16, 31, 46, 61, 76, 91, 106, -8].map(down => {
    const left = isLeft ? x - away - width : x + away, base = Math.max(pen.top + 12, y + down);
    return { left: left - 3, right: left + width + 3, top: base - 12, bottom: base + 4, base };
  })).filter(box => box.left > pen.left && box.right < pen.right);
  const box = boxes.find(one => isClear(pen, one, true)) ?? boxes.find(one => isClear(pen, one, false)) ??
    boxes.find(one => isUnnamed(pen, one)) ?? boxes[0];
  if (box)
    writeOver(context, text, box.left + 3, box.base);
}

const PICTURE_FONT = '12px system-ui, sans-serif';

const isReserved = (run, bytes) => run && cellOf(data.rows[run.row], 'peak_reserved_bytes') === bytes;

/* Everything but words around it, into a part of a canvas. */
function paintPicture(context, x, y, width, height) {
  const columns = Math.max(1, Math.floor(width)), { moments, sums } = sumColumns(columns), most = pictureTop(sums);
  const pen = penOf(context, x, y, columns, height, most), runs = picturedRuns(), card = pictureCard();
  const recorded = data.answer.recorded_reserved_bytes;
  context.font = PICTURE_FONT;
  drawScale(pen, most * 1.08);
  drawAreas(pen, sums);
  drawSteps(pen);
  for (const run of runs)
    drawReserved(pen, run, moments, lookOf(run.row));
  if (card !== null && card <= most)
    drawLevel(pen, card, roomText(card), []);
  if (recorded > 0 && recorded <= most && !scene.recorded && !isReserved(ranHere(), recorded))
    drawLevel(pen, recorded, 'reserved as recorded, at most ' + exactText(recorded), [4, 4]);
  drawRefused(pen);
  picture.moments = moments;
  picture.tops = sums.map(kind => kind.reduce((a, b) => Math.max(a, b), 0) / most);
  return pen;
}

/* ---- words ---- */

/* "activations 40 MiB 12%": what a kind holds at the moment that is told, or that it holds nothing then. */
function pictureKey(kind, total) {
  const { sums, guessed } = picture.told, sample = element('i');
  const share = guessed[kind] / sums[kind], isGuess = share > 0.995 ? GUESS : share > 0.005 ? ' (partly a guess)' : '';
  sample.style.background = kindColor(kind);
  return element('span', { className: 'key' }, sample, element('span', {},
    element('span', { className: 'label', textContent: picture.names[kind] + isGuess + ' ' }),
    element('strong', { textContent: sums[kind] > 0 ? besideText(sums[kind], total) : '' }), ' ',
    element('span', { className: 'unit', textContent: sums[kind] > 0 ? shareText(sums[kind] / total)
      : 'none at that moment' })));
}

/* All kinds that can be seen, or that hold something at the moment that is told; the largest first. */
function pictureKeys() {
  const { sums } = picture.told, total = sums.reduce((sum, bytes) => sum + bytes, 0) || 1;
  const keys = [...sums.keys()].filter(kind => sums[kind] / total >= KEY_LEAST || picture.tops[kind] >= KEY_SEEN);
  const items = keys.sort((a, b) => sums[b] - sums[a] || a - b).map(kind => pictureKey(kind, total));
  const lines = picturedRuns().map(run => element('span', { className: 'key' }, dashKey(lookOf(run.row).color,
    lookOf(run.row).dash, 3), 'reserved ' + roleOf(run.row) + ' (' + settingWords(run.row) + ')' +
    (run.row !== RECORDED && !isFromEmpty() && roleOf(run.row) === 'recommended' ? ', from an empty cache' : '') +
    (run.n_moments < scene.trace.n_events ? ', until a request was refused' : '')));
  return [...items, ...lines];
}

/* Which of the lines are from the recording, and which a replay makes. */
function reservedSays() {
  const isRecorded = scene.recorded && (scene.recorded.line || scene.recorded.isExact), n = picturedRuns().length;
  if (n === 0)
    return '';
  return !isRecorded ? 'Reserved memory is replayed. ' : 'Reserved memory is as recorded' +
    (n > 1 ? '; what is recommended is replayed. ' : '. ');
}

function pictureSays() {
  return 'Live memory ' + (hasCategories(scene.trace) ? 'by what it is for' : 'by line') + '; figures ' +
    (picture.refusals.length > 0 ? 'when the request was refused' : 'at its peak') + '. ' +
    reservedSays() + 'Click to look closer.';
}

/* What the pointer is at: the moment, what is live, reserved, and of which kinds. */
function pictureTip(moment) {
  const apart = ([at]) => Math.abs(at - moment) * byId('picture-canvas').clientWidth / scene.trace.n_events;
  const near = picture.refusals.filter(one => apart(one) < PICTURE_POINT).sort((a, b) => apart(a) - apart(b))[0];
  const at = near ? near[0] : moment, { sums } = sumsAt(at);
  const kinds = [...sums.keys()].filter(kind => sums[kind] > 0).sort((a, b) => sums[b] - sums[a]);
  const live = sums.reduce((a, b) => a + b, 0), reserved = picturedRuns().filter(run => reservedAt(run, at) !== null);
  const most = Math.max(live, ...reserved.map(run => reservedAt(run, at)));
  const lines = [momentText(scene.trace, at) + ': ' + besideText(live, most) + ' live',
  ...reserved.map(run => besideText(reservedAt(run, at), most) + ' reserved ' + roleOf(run.row)),
  ...kinds.slice(0, 4).map(kind => besideText(sums[kind], most) + ' ' + picture.names[kind])];
  return (near ? ['refused: ' + exactText(near[1])] : []).concat(lines);
}

/* ---- the page ---- */

let picturePen = null;

function drawPicture() {
  const figure = byId('picture'), canvas = byId('picture-canvas');
  figure.hidden = !data.answer || !scene.trace;
  if (figure.hidden)
    return;
  const width = canvas.clientWidth, height = canvas.clientHeight, dense = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  const context = canvas.getContext('2d');
  context.scale(dense, dense);
  picturePen = paintPicture(context, 46, 18, width - 54, height - 38);
  byId('picture-keys').replaceChildren(...pictureKeys());
  byId('picture-says').textContent = pictureSays();
  canvas.setAttribute('aria-label', pictureTip(toldMoment()).join('; '));
}

function listenToPicture() {
  const canvas = byId('picture-canvas'), momentAt = event => {
    const x = event.clientX - canvas.getBoundingClientRect().left - picturePen.left;
    return picture.moments[Math.min(picture.moments.length - 1, Math.max(0, Math.floor(x)))];
  };
  canvas.addEventListener('pointermove', event => showTip(event, pictureTip(momentAt(event))));
  canvas.addEventListener('pointerleave', hideTip);
  canvas.addEventListener('click', event => openMoment(momentAt(event)));
  canvas.addEventListener('keydown', event => {
    if (event.key === 'Enter')
      openMoment(toldMoment());
  });
  byId('save-picture').addEventListener('click', savePicture);
  byId('save-svg').addEventListener('click', saveSvg);
  byId('copy-link').hidden = IS_FRAMED;
  byId('copy-link').addEventListener('click', event => copyText(location.href, event.target));
  const paste = byId('copy-paste');
  if (!paste)
    return;
  paste.hidden = false;
  paste.addEventListener('click', () => copyText(paste.previousElementSibling.textContent, paste));
}

function openMoment(moment) {
  moveCursor(moment);
  byId('detail').scrollIntoView();
}

/* ---- sending it ---- */

/* Says on the button whether it worked: a browser may refuse. */
async function copyText(text, button) {
  const before = button.dataset.name ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch (refused) {
    button.textContent = 'Refused by the browser';
  }
  setTimeout(() => { button.textContent = before; }, 2000);
}

/* Breaks a text into lines of at most so many pixels. */
function wrapText(context, text, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = (lines.at(-1) + ' ' + word).trim();
    if (context.measureText(longer).width > width && lines.at(-1) !== '')
      lines.push(word);
    else
      lines[lines.length - 1] = longer;
  }
  return lines;
}

/* A key's sample: a colour, or a line with its dashes. Returns its width. */
function paintSample(context, key, x, y) {
  const box = key.querySelector('i'), line = key.querySelector('line');
  if (box) {
    context.fillStyle = getComputedStyle(box).backgroundColor;
    context.fillRect(x, y - 11, 12, 12);
    return 12;
  }
  context.strokeStyle = line.getAttribute('stroke');
  context.lineWidth = Number(line.getAttribute('stroke-width'));
  strokeLine(context, x, y - 5, x + 34, y - 5, line.getAttribute('stroke-dasharray').split(' ').filter(Boolean));
  context.setLineDash([]);
  return 34;
}

const KEYS_APART = 24, KEY_ROW = 22; /* pixels */

/* All of the picture's keys, in as many rows as they take; returns where the last one stands. */
function paintKeys(context, y, width) {
  let x = 40;
  context.font = '15px system-ui, sans-serif';
  for (const key of document.querySelectorAll('#picture-keys .key')) {
    const text = key.textContent.trim().replace(/\s+/g, ' '), long = context.measureText(text).width;
    if (x > 40 && x + 40 + long > width) {
      x = 40;
      y += KEY_ROW;
    }
    x += paintSample(context, key, x, y) + 6;
    context.fillStyle = color('text');
    context.fillText(text, x, y);
    x += long + KEYS_APART;
  }
  return y;
}

/* As large as a preview of a link. */
const PICTURE_WIDTH = 1200, PICTURE_HEIGHT = 630;

/* The verdict, what to do and the picture. */
function paintCard(context) {
  let y = 56;
  context.fillStyle = color('back');
  context.fillRect(0, 0, PICTURE_WIDTH, PICTURE_HEIGHT);
  const write = (selector, font, height) => {
    const text = document.querySelector(selector)?.textContent;
    context.font = font + ' system-ui, sans-serif';
    context.fillStyle = color('text');
    for (const line of text ? wrapText(context, text, 1120).slice(0, 4) : []) {
      context.fillText(line, 40, y);
      y += height;
    }
  };
  write('#answer .verdict', '600 30px', 38);
  write('#answer .act, #answer .paste code', '20px', 30);
  y = paintKeys(context, y, 1160);
  paintPicture(context, 90, y + 24, 1070, 536 - y);
  context.textAlign = 'start';
  context.fillStyle = color('quiet');
  context.font = '16px system-ui, sans-serif';
  context.fillText(document.title, 40, 606);
}

function saveFile(blob, ending) {
  const link = element('a', { href: URL.createObjectURL(blob),
    download: document.title.replace(/[^\w.-]+/g, '-') + ending });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function savePicture() {
  const canvas = element('canvas', { width: PICTURE_WIDTH, height: PICTURE_HEIGHT });
  paintCard(canvas.getContext('2d'));
  canvas.toBlob(blob => saveFile(blob, '.png'));
}
