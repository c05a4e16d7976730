/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* How fragmented run A is over time: three gauges of its course, as steps. */

const GAUGES_DRAWN = [['unallocated', [], 2.5, 'reserved, not allocated'],
  ['inactive_split', [10, 3, 2, 3], 2, 'inactive split'], ['rounding', [2, 2], 2, 'lost to rounding']];
let fragmentationGraph = null;

function drawFragmentation() {
  const run = scene.runs.get(view.a), host = byId('fragmentation');
  fragmentationGraph?.destroy();
  fragmentationGraph = null;
  if (!run || !byId('fragmentation-part').open)
    return;
  const course = run.course, most = Math.max(KIB, ...GAUGES_DRAWN.flatMap(([name]) => [...course[name].most]));
  const unit = unitOf(most),
    lines = GAUGES_DRAWN.map(([name, dash, width]) => ({ name, color: color(name), dash, width }));
  const rows = Array.from(course.moment, (moment, i) => [moment, ...GAUGES_DRAWN.map(([name]) =>
    [course[name].least[i], course[name].most[i]].map(v => v / unit.bytes))]);
  fragmentationGraph = stepChart(host, rows, lines, unit, { valueRange: [0, most * 1.06 / unit.bytes] });
  byId('fragmentation-keys').replaceChildren(...GAUGES_DRAWN.map(([name, dash, width, title]) =>
    element('span', { className: 'line-key' }, dashKey(color(name), dash, width + 0.5), title)));
  byId('fragmentation-note').textContent = settingOf(data.rows[run.row]) + '. ' + (run.events_each === 1 ?
    'Every event is drawn.' : 'Each step stands for ' + grouped(run.events_each) + ' events: the line is the most ' +
    'within them, the shade reaches down to the least. Both are exact.');
}
