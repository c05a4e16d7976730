/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who holds the memory: live bytes at a moment by call stack, as an icicle. The outermost line of the program is on
 * top, or the innermost; a box is as wide as what it holds, and a click enters it. Also what grew between two moments.
 */

const ICICLE_DEPTH = 9, ICICLE_LEAST = 0.004;    /* rows; the narrowest box, as a share of the whole */
const ICICLE_NAMED = 44;             /* a box of fewer pixels has no room for its name */

/* { bytes by request } of what is shown, and its name. */
function heldNow() {
  const trace = scene.trace, run = scene.runs.get(view.a), refusal = run?.refusals[0];
  const moment = view.hold === 'peak' ? scene.peak : view.hold === 'refusal' && refusal ? refusal[0] : view.at;
  const held = heldAt(trace, moment);
  if (view.hold !== 'growth')
    return { held, moment, what: 'live ' + momentText(trace, moment) };
  const since = Math.min(view.since, view.at);
  return { held: held.filter(i => trace.born[i] > since), moment, what: 'requested after the mark (' +
    momentText(trace, since) + ') and live ' + momentText(trace, moment) };
}

/* Who has a request: its line; where no stacks were recorded its size, as in `replay who`. */
const holderOf = i => scene.trace.stacks.nodes.length > 0 ? lineOf(scene.trace, i) : bytesText(scene.trace.bytes[i]);

/* The own lines of a request from the outermost in, or from the innermost out; its one telling line if there are none;
 * its size without a stack. */
function pathOf(i) {
  const trace = scene.trace, own = framesOf(trace, trace.stack[i]).filter(f => f.isOwn).map(f => frameText(f.text));
  if (own.length > 0)
    return view.order === 'inner' ? own : own.reverse();
  return trace.stack[i] > 0 || holderOf(i) !== lineOf(trace, i) ? [holderOf(i)]
    : [lineOf(trace, i), bytesText(trace.bytes[i])];
}

function treeOf(held) {
  const root = { name: 'all', bytes: 0, n: 0, children: new Map(), requests: [] };
  for (const i of held) {
    let node = root;
    for (const name of ['', ...pathOf(i)]) {
      if (name !== '') {
        if (!node.children.has(name))
          node.children.set(name, { name, bytes: 0, n: 0, children: new Map() });
        node = node.children.get(name);
      }
      node.bytes += scene.trace.bytes[i];
      node.n++;
      if (node.largest === undefined || scene.trace.bytes[i] > scene.trace.bytes[node.largest])
        node.largest = i;
    }
  }
  return root;
}

const holderText = (node, total) => node.name + ': ' + bytesText(node.bytes) + ' (' +
  (100 * node.bytes / (total || 1)).toFixed(1) + '%) in ' + grouped(node.n) + (node.n === 1 ? ' request' : ' requests');

/* The box that is entered, as far as it is there, and the names that lead to it. */
function entered(root) {
  let node = root;
  const names = [];
  for (const name of view.inside.split('\n')) {
    if (!node.children.has(name))
      break;
    node = node.children.get(name);
    names.push(name);
  }
  return { node, names };
}

/* The way out: a button for each box around the one that is entered. */
function drawWayOut(names) {
  const step = (text, inside) => {
    const button = element('button', { type: 'button', className: 'link', textContent: text });
    button.addEventListener('click', () => show({ inside }));
    return button;
  };
  byId('icicle-path').hidden = names.length === 0;
  byId('icicle-path').replaceChildren(step('All', ''), ...names.flatMap((name, i) => [' › ',
    i < names.length - 1 ? step(name, names.slice(0, i + 1).join('\n')) : element('strong', { textContent: name })]));
}

/* A box; `room` is its width in pixels, `path` the names that lead to it. */
function boxOf(node, text, path, room) {
  const box = element('button', { type: 'button', className: 'box', title: text, ariaLabel: text,
    textContent: room < ICICLE_NAMED ? '' : node.name });
  const say = () => { byId('holder-says').textContent = text; };
  box.style.background = cssOf(mixed(shadeOf(scene.groups.of[node.largest]).even, channelsOf(color('back')), 0.55));
  box.addEventListener('click', () => show({ inside: path.join('\n'), request: node.largest, group: -1 }));
  box.addEventListener('pointerenter', say);
  box.addEventListener('focus', say);
  return box;
}

/* The boxes in a box; left and width are shares of what is entered, `whole` is all. The width of the host is asked for
 * once: after each box that is added it would be laid out anew. */
function addBoxes(host, node, { total, whole, names, pixels }, left, depth) {
  let at = left;
  for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
    const share = child.bytes / total, path = [...names, child.name];
    if (share >= ICICLE_LEAST && depth < ICICLE_DEPTH) {
      const box = boxOf(child, holderText(child, whole), path, share * pixels);
      Object.assign(box.style, { left: 100 * at + '%', width: 100 * share + '%', top: 1.6 * depth + 'rem' });
      host.append(box);
      addBoxes(host, child, { total, whole, names: path, pixels }, at, depth + 1);
    }
    at += share;
  }
}

const depthOf = node => Math.max(0, ...[...node.children.values()].map(child => 1 + depthOf(child)));

function drawHolders() {
  const run = scene.runs.get(view.a), { held, moment, what } = heldNow(), root = treeOf(held), host = byId('icicle');
  byId('hold').value = view.hold;
  byId('order').value = view.order;
  [...byId('hold').options].find(o => o.value === 'refusal').disabled = !run?.refusals.length;
  const { node, names } = entered(root);
  host.replaceChildren();
  host.style.height = 1.6 * Math.min(ICICLE_DEPTH, Math.max(1, depthOf(node))) + 'rem';
  addBoxes(host, node, { total: node.bytes || 1, whole: root.bytes, names, pixels: host.clientWidth }, 0, 0);
  drawWayOut(names);
  const rest = view.hold === 'growth' ? 0 : restAt(scene.trace, moment);
  byId('holder-says').textContent = (names.length > 0 ? holderText(node, root.bytes) + '. All: ' : '') +
    bytesText(root.bytes) + ' in ' + grouped(root.n) + ' requests ' + what +
    (rest > 0 ? '; and ' + bytesText(rest) + ' in requests too small to be drawn' : '') + '.';
  drawHolderTable(root, held);
  drawGroups(held);
}

/* The same by line, as a table. */
function drawHolderTable(root, held) {
  const lines = new Map();
  for (const i of held) {
    const name = holderOf(i), line = lines.get(name) || { name, bytes: 0, n: 0, largest: i };
    line.bytes += scene.trace.bytes[i];
    line.n++;
    lines.set(name, line);
  }
  const top = [...lines.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 10);
  table(byId('holders'), [
    { title: scene.trace.stacks.nodes.length > 0 ? 'line' : 'size', value: l => l.name, show: l => breakable(l.name) },
    { title: 'live', value: l => l.bytes, show: l => bytesText(l.bytes) },
    { title: 'share', fold: 1, unit: '%', value: l => l.bytes,
      show: l => (100 * l.bytes / (root.bytes || 1)).toFixed(1) },
    { title: 'requests', fold: 2, value: l => l.n, show: l => grouped(l.n) },
  ], top, {});
}
