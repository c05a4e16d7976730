/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Why a request was refused: the request drawn against the free parts of memory, to one scale, and what pins each.
 */

const HOLES_DRAWN = 10;

function refusalBar(className, bytes, most, text) {
  const fill = element('div', { className: 'fill ' + className });
  fill.style.width = Math.max(0.3, 100 * bytes / most) + '%';
  return [element('div', { className: 'name', textContent: text }),
    element('div', { className: 'value', textContent: bytesText(bytes) }),
    element('div', { className: 'track' }, fill)];
}

function pinButton(i, where) {
  if (i < 0)
    return element('span', { className: 'quiet',
      textContent: where + ': the ' + (where === 'before it' ? 'start' : 'end') + ' of the segment' });
  const button = element('button', { type: 'button', className: 'link', textContent: where + ': ' +
    bytesText(scene.trace.bytes[i]) + ' ' + lineOf(scene.trace, i) });
  button.addEventListener('click', () => chooseRequest(i));
  return button;
}

function holeRow(hole, most) {
  const bar = element('div', { className: 'bar' }, ...refusalBar('hole', hole.bytes, most,
    hole.before < 0 && hole.after < 0 ? 'cached segment' : 'hole'));
  if (hole.before >= 0 || hole.after >= 0)
    bar.append(element('div', { className: 'pins' }, pinButton(hole.before, 'before it'), ' ', pinButton(hole.after,
      'after it')));
  return bar;
}

/* What is free and large enough was not free for this request. */
function otherwiseBoundText(holes, bytes) {
  const n = isPartial() ? 0 : holes.filter(h => h.bytes >= bytes).length;
  return n === 0 ? [] : ['Large enough, but bound otherwise (another stream, pool or kind of segment, a use that is ' +
    'not over, a setting): ' + grouped(n) + '.'];
}

function refusalHead(run, bytes, holes, sum) {
  const free = OOMS.find(o => o.row === run.row)?.oom_first_device_free_bytes;
  const parts = [bytesText(bytes) + ' were asked for.', 'Free in what is reserved: ' + bytesText(sum) + ', in pieces.',
    ...otherwiseBoundText(holes, bytes)];
  if (isPartial())
    parts.push('Requests too small to be drawn count as free here.');
  if (free !== undefined && free !== null)
    parts.push('Free on the card: ' + bytesText(free) + '.');
  return { text: parts.join(' '), free };
}

function drawRefusal() {
  const run = scene.runs.get(view.a), part = byId('refusal-part');
  part.hidden = !run || run.refusals.length === 0;
  if (part.hidden)
    return;
  const [moment, bytes] = run.refusals[0], holes = holesAt(run, scene.trace, moment).sort((a, b) => b.bytes - a.bytes);
  const sum = holes.reduce((total, h) => total + h.bytes, 0), { text, free } = refusalHead(run, bytes, holes, sum);
  const most = Math.max(bytes, free || 0, holes[0]?.bytes || 0) * 1.02;
  byId('refusal-title').textContent = 'Why ' + settingOf(data.rows[run.row]) + ' refused ' + bytesText(bytes);
  const go = element('button', { type: 'button', className: 'plain', textContent: 'Go there' });
  go.addEventListener('click', () => moveCursor(moment));
  const bars = [element('div', { className: 'bar' }, ...refusalBar('asked', bytes, most, 'the request'))];
  if (free !== undefined && free !== null)
    bars.push(element('div', { className: 'bar' }, ...refusalBar('card-free', free, most, 'free on the card')));
  byId('refusal').replaceChildren(element('p', {}, text + ' ', go), ...bars,
    ...holes.slice(0, HOLES_DRAWN).map(h => holeRow(h, most)));
  if (holes.length > HOLES_DRAWN)
    byId('refusal').append(element('p', { className: 'quiet', textContent: grouped(holes.length - HOLES_DRAWN) +
      ' smaller ones.' }));
}
