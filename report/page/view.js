/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The one state of the page: which case and runs, one cursor, one selection, one window of time. All views draw it, and
 * the address of the page holds it after '#', so that a view can be sent.
 *
 * A moment is a number of events done; moment 0 is the start.
 */

const view = {
  case: 0,
  a: -1, b: -1,                      /* rows of the two runs that are laid side by side; -1: none */
  at: 0,                             /* the cursor, a moment */
  from: 0, to: 0,                    /* the window of moments that is drawn */
  request: -1,                       /* the selection: a request; -1: none */
  group: -1,                         /* or a group of requests; -1: none */
  color: 'line',                     /* what makes a group: line, size, category or find */
  find: '',                          /* what is looked for in lines, stacks and sizes */
  hold: 'at',                        /* whose bytes "who holds it" shows: at (the cursor), peak, refusal, growth */
  inside: '',                        /* the box of the icicle that is entered: names from the outermost in, by lines */
  order: 'outer',                    /* what is on top of the icicle: the outermost line of a stack, or the inner one */
  since: 0,                          /* growth is counted from this moment */
  zoom: 1, top: 0, topB: 0,          /* of the maps: magnification, first byte shown in A and in B */
  hidden: 0,                         /* runs that the chart leaves out, a bit each */
  axis: 'event',                     /* what the chart's ticks say: event, time or step */
  filter: 'all', cases: '',          /* of the grid of a sweep: which cases, and a text in their names */
  sort: '',                          /* tables that are sorted, "rows.3" by the 4th column, "rows.-3" from the most */
  columns: '',                       /* tables that show all their columns, "rows", or those that do not fit,
                                      * "rows.wide" */
  open: '',                          /* folded parts that were opened, and open ones that were folded */
};
const VIEW_LISTS = ['sort', 'columns', 'open'];
const VIEW_TEXTS = ['color', 'hold', 'axis', 'find', 'inside', 'order', 'filter', 'cases', ...VIEW_LISTS];
const VIEW_TEXT_MOST = 2000;
/* What a text may be; what is looked for may be anything. */
const VIEW_WORDS = { color: ['line', 'size', 'category', 'find'], hold: ['at', 'peak', 'refusal', 'growth'],
  axis: ['event', 'time', 'step'], order: ['outer', 'inner'], filter: ['all', 'differs', 'spread', 'fails'] };
const VIEW_NUMBERS = ['case', 'a', 'b', 'request', 'group', 'hidden'];

const drawers = [];                  /* { keys, draw }: called when one of the keys has changed */
let changed = new Set();
let isDrawing = false, isDrawingAll = false;

function onView(keys, draw) {
  drawers.push({ keys, draw });
}

function drawChanged() {
  const now = changed;
  changed = new Set();
  isDrawing = false;
  for (const { keys, draw } of drawers)
    if (keys.some(key => now.has(key)))
      draw(now);
  writeAddress();
}

const TASK_MOST = 25;                /* milliseconds after which others may have their turn */
let taskBegan = performance.now();

/* Long work gives way between its parts, so that the page answers meanwhile. */
async function giveWay() {
  if (performance.now() - taskBegan < TASK_MOST)
    return;
  await new Promise(done => setTimeout(done));
  taskBegan = performance.now();
}

/* Draws everything, part by part. What is shown in between is drawn at the end. */
async function drawAll() {
  const all = new Set(Object.keys(view));
  changed = new Set();
  isDrawing = isDrawingAll = true;
  for (const { draw } of drawers) {
    await giveWay();
    draw(all);
  }
  await giveWay();
  isDrawingAll = false;
  drawChanged();
}

/* Changes the view; what depends on it is drawn before the next frame. */
function show(changes) {
  for (const [key, value] of Object.entries(changes))
    if (view[key] !== value) {
      view[key] = value;
      changed.add(key);
    }
  if (changed.size > 0 && !isDrawing) {
    isDrawing = true;
    requestAnimationFrame(() => isDrawingAll || drawChanged());
  }
}

/* The words of a list in the view. */
const listOf = key => view[key].split(',').filter(word => word !== '');

/* Puts a word into a list of the view in the place of those that `isOther` tells; undefined: takes them out. */
function showInList(key, word, isOther) {
  show({ [key]: [...listOf(key).filter(one => !isOther(one)), ...word === undefined ? [] : [word]].join(',') });
}

/* ---- the address ---- */

let addressTimer = 0;

/* Within the page for browsers (web/) this page has no address of its own: that page keeps it, and writes it into the
 * head of this one. */
const IS_FRAMED = parent !== window;
const addressHere = () => IS_FRAMED ? document.querySelector('meta[name=view]')?.content ?? '' : location.hash;

/* Not at every frame of a drag: browsers limit how often an address may change. */
function writeAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const text = Object.entries(view).map(([key, value]) => key + '=' + encodeURIComponent(value)).join('&');
    if (IS_FRAMED)
      return parent.postMessage({ view: text }, '*');
    history.replaceState(null, '', '#' + text);
  }, 200);
}

/* Whether a number may stand in an address: what names a thing by its number is whole. */
const isOfView = (key, value) => VIEW_NUMBERS.includes(key) ? Number.isSafeInteger(value) : Number.isFinite(value);

/* What an address says, as far as it says it; anything else is ignored. */
function readAddress() {
  const changes = {};
  for (const [key, text] of new URLSearchParams(addressHere().replace(/^#/, ''))) {
    if (VIEW_TEXTS.includes(key) && (VIEW_WORDS[key]?.includes(text) ?? text.length <= VIEW_TEXT_MOST))
      changes[key] = text;
    else if (key in view && !VIEW_TEXTS.includes(key) && text !== '' && isOfView(key, Number(text)))
      changes[key] = Number(text);
  }
  return changes;
}
