/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who holds the memory: live bytes at a moment by call stack, as an icicle. The outermost line of the program is on
 * top; a box is as wide as what it holds. Also what grew between two moments.
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

/* The own lines of a request from the outermost in; its one telling line if there are none;
 * its size without a stack. */
function pathOf(i) {
  const trace = scene.trace, own = framesOf(trace, trace.stack[i]).filter(f => f.isOwn).map(f => frameText(f.text));
  if (own.length > 0)
    return own.reverse().slice(0, ICICLE_DEPTH);
  return trace.stack[i] > 0 ? [lineOf(trace, i)] : [lineOf(trace, i), bytesText(trace.bytes[i])];
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

/* A box and those under it; left and width are shares of the whole. */
function addBoxes(host, node, total, left, depth) {
  let at = left;
  for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
    const share = child.bytes / total;
    if (share >= ICICLE_LEAST && depth < ICICLE_DEPTH) {
      const text = holderText(child, total), box = element('button', { type: 'button', className: 'box', title: text,
        ariaLabel: text, textContent: share * host.clientWidth < ICICLE_NAMED ? '' : child.name });
      Object.assign(box.style, { left: 100 * at + '%', width: 100 * share + '%', top: 1.6 * depth + 'rem' });
      const group = scene.groups.of[child.largest];
      box.style.background = cssOf(mixed(shadeOf(group).even, channelsOf(color('back')), 0.55));
      box.addEventListener('click', () => chooseRequest(child.largest));
      box.addEventListener('pointerenter', () => { byId('holder-says').textContent = text; });
      box.addEventListener('focus', () => { byId('holder-says').textContent = text; });
      host.append(box);
      addBoxes(host, child, total, at, depth + 1);
    }
    at += share;
  }
}

const depthOf = node => Math.max(0, ...[...node.children.values()].map(child => 1 + depthOf(child)));

function drawHolders() {
  const run = scene.runs.get(view.a), { held, moment, what } = heldNow(), root = treeOf(held), host = byId('icicle');
  byId('hold').value = view.hold;
  [...byId('hold').options].find(o => o.value === 'refusal').disabled = !run?.refusals.length;
  host.replaceChildren();
  host.style.height = 1.6 * Math.min(ICICLE_DEPTH, depthOf(root)) + 'rem';
  addBoxes(host, root, root.bytes || 1, 0, 0);
  const rest = view.hold === 'growth' ? 0 : restAt(scene.trace, moment);
  byId('holder-says').textContent = bytesText(root.bytes) + ' in ' + grouped(root.n) + ' requests ' + what +
    (rest > 0 ? '; and ' + bytesText(rest) + ' in requests too small to be drawn' : '') + '.';
  drawHolderTable(root);
}

/* The same by line, as a table. */
function drawHolderTable(root) {
  const lines = new Map();
  for (const i of heldNow().held) {
    const name = lineOf(scene.trace, i), line = lines.get(name) || { name, bytes: 0, n: 0, largest: i };
    line.bytes += scene.trace.bytes[i];
    line.n++;
    lines.set(name, line);
  }
  const top = [...lines.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 10);
  table(byId('holders'), [
    { title: 'line', value: l => l.name, show: l => l.name },
    { title: 'live', value: l => l.bytes, show: l => bytesText(l.bytes) },
    { title: 'share', fold: 1, unit: '%', value: l => l.bytes,
      show: l => (100 * l.bytes / (root.bytes || 1)).toFixed(1) },
    { title: 'requests', fold: 2, value: l => l.n, show: l => grouped(l.n) },
  ], top, {});
}
