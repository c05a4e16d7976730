/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Looks for a text in the stacks and sizes of all requests and lights what has it; and the keys of the whole page. */

const FOUND = 'what was found';

/* Whether a request's line, a frame of its stack or its size has a text. Each stack is looked through once. */
function finder(trace, text) {
  const wanted = text.trim().toLowerCase(), byStack = new Map(), has = found => found.toLowerCase().includes(wanted);
  const isSize = sizeFinder(wanted);
  const isInStack = i => framesOf(trace, trace.stack[i]).some(f => has(f.text)) || has(lineOf(trace, i));
  return i => {
    const stack = trace.stack[i] > 0 ? trace.stack[i] : trace.born[i] === 0 ? -1 : 0;
    if (!byStack.has(stack))
      byStack.set(stack, isInStack(i));
    return byStack.get(stack) || isSize(trace.bytes[i]);
  };
}

/* Whether a size is written so, as far as the text goes: "26.37 MiB" and "26.4 MiB", as the page does; in bytes all of
 * it, with or without commas. */
const sizeFinder = wanted => namerBy(bytes => bytes, bytes =>
  [exactText(bytes), bytesText(bytes)].some(text => text.toLowerCase().startsWith(wanted)) ||
  wanted.replaceAll(',', '').replace(/ ?(b|bytes?)$/, '') === String(bytes));

/* Lights what was found, and says how much it is. */
function sayFound() {
  const at = scene.groups.groups.findIndex(group => group.name === FOUND), found = scene.groups.groups[at];
  const held = heldAt(scene.trace, scene.peak).filter(i => scene.groups.of[i] === at);
  view.group = at;
  byId('find').value = view.find;
  byId('find-says').textContent = !found ? 'Nothing has it.' : grouped(found.n) + (found.n === 1 ? ' request, ' :
    ' requests, ') + exactText(held.reduce((sum, i) => sum + scene.trace.bytes[i], 0)) + ' live at the peak.';
}

function listenToSearch() {
  byId('find').addEventListener('input', event => {
    const find = event.target.value;
    if (find.trim() === '') {
      byId('find-says').textContent = '';
      show({ find: '', group: -1, color: scene.trace.stacks.nodes.length > 0 ? 'line' : 'size' });
    } else {
      show({ find, color: 'find', request: -1 });
    }
  });
}

/* Moves the window by a share of it. */
function panTime(share) {
  const span = view.to - view.from, from = Math.min(scene.trace.n_events - span, Math.max(0, view.from + span * share));
  show({ from, to: from + span });
}

/* Letters are for the plots alone: a person who dictates does not press them by accident. */
function listenToKeys() {
  const time = { w: () => zoomTime(0.5), s: () => zoomTime(2), a: () => panTime(-0.25), d: () => panTime(0.25) };
  byId('plots').addEventListener('keydown', event => {
    const act = time[event.key.toLowerCase()];
    if (!act || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    act();
  });
  for (const id of ['timeline', 'overview'])         /* neither takes the focus by itself */
    byId(id).addEventListener('pointerup', () => byId('timeline').focus({ preventScroll: true }));
  byId('plots').addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.shiftKey)
      return;                        /* the page scrolls */
    event.preventDefault();
    const along = event.deltaY || event.deltaX;
    if (event.ctrlKey)
      zoomTimeAt(along < 0 ? 0.8 : 1.25, momentOfX(event.clientX - byId('plots').getBoundingClientRect().left));
    else
      panTime(Math.sign(along) * 0.1);
  }, { passive: false });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) ||
        !scene.trace)
      return;
    const field = event.key === '/' ? byId('find') : null, list = event.key === '?' ? byId('shortcuts') : null;
    if (!field && !list)
      return;
    event.preventDefault();
    if (list)
      list.open = !list.open;
    (field ?? list).scrollIntoView({ block: 'center' });
    field?.focus();
  });
}
