/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What was reserved at the peak, from the live peak up: each rule of the allocator begins where the one before ends,
 * and one that saves memory goes back. The figures are those of `replay blame`; they sum to the byte.
 *
 *     live peak           |###########|
 *     rounding                        |//|
 *     order of addresses                 |/////|
 *     reserved            |====================|
 */

const signedText = n => (n < 0 ? '−' : '') + exactText(Math.abs(n));

function waterfallBar(name, does, bytes, { from, to, most, kind }) {
  const fill = element('div', { className: 'fill ' + kind }), low = Math.min(from, to);
  fill.style.left = 100 * low / most + '%';
  fill.style.width = Math.max(0.2, 100 * Math.abs(to - from) / most) + '%';
  return element('div', { className: 'bar' },
    element('div', { className: 'name' }, name, element('span', { className: 'unit', textContent: ': ' + does })),
    element('div', { className: 'value', textContent: signedText(bytes) }),
    element('div', { className: 'track' }, fill));
}

function waterfallBars(blame) {
  const { peak_reserved_bytes: reserved, live_peak_bytes: live, parts } = blame;
  let at = live, most = Math.max(reserved, live);
  const spans = parts.map(part => {
    const from = at;
    at += part.bytes;
    most = Math.max(most, at);
    return { from, to: at, part };
  });
  return [waterfallBar('live peak', 'no allocator needs less', live, { from: 0, to: live, most, kind: 'live' }),
    ...spans.map(({ from, to, part }) => waterfallBar(part.words, part.does, part.bytes,
      { from, to, most, kind: part.bytes < 0 ? 'saves' : 'rule' })),
    waterfallBar('reserved', blame.is_cut ? 'at its peak, before a request is refused' : 'at its peak', reserved,
      { from: 0, to: reserved, most, kind: 'whole' })];
}

function drawWaterfall() {
  const blame = data.answer?.blame, rest = blame && blame.peak_reserved_bytes - blame.live_peak_bytes;
  byId('waterfall-part').hidden = !rest;
  if (!rest)
    return;
  byId('waterfall-title').textContent = 'Reserved ' + roleOf(data.answer.as_it_ran) + ' (' +
    settingWords(data.answer.as_it_ran) + '): the live peak, and what each rule of the allocator adds';
  byId('waterfall').replaceChildren(...waterfallBars(blame));
  byId('waterfall-says').textContent = blame.help + ' A rule’s part is what the peak falls by if the rule is taken ' +
    'out, on average over all orders of taking them out. The parts sum to the whole, to the byte' +
    (blame.parts.some(part => part.bytes < 0) ? '; a rule below 0 saves memory here.' : '.');
}
