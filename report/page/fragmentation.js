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
  const unit = unitOf(most), series = {};
  for (const [name, dash, width] of GAUGES_DRAWN)
    series[name] = { color: color(name), strokePattern: dash.length ? dash : null, strokeWidth: width };
  const rows = Array.from(course.moment, (moment, i) => [moment, ...GAUGES_DRAWN.map(([name]) =>
    [course[name].least[i], course[name].most[i], course[name].most[i]].map(v => v / unit.bytes))]);
  fragmentationGraph = new Dygraph(host, rows, {
    labels: ['at', ...GAUGES_DRAWN.map(([name]) => name)], series, customBars: true, fillAlpha: 0.25, stepPlot: true,
    legend: 'never', valueRange: [0, most * 1.06 / unit.bytes], ylabel: unit.name, xlabel: 'events done',
    axisLabelColor: color('text'), axisLineColor: color('line'), gridLineColor: color('line'), highlightCircleSize: 0,
    axisLabelFontSize: 12, xLabelHeight: 20, yLabelWidth: 20,
    axes: { x: { axisLabelFormatter: v => grouped(v), pixelsPerLabel: 90 }, y: { axisLabelWidth: 48 } },
  });
  byId('fragmentation-keys').replaceChildren(...GAUGES_DRAWN.map(([name, dash, width, title]) =>
    element('span', { className: 'line-key' }, dashKey(color(name), dash, width + 0.5), title)));
  byId('fragmentation-note').textContent = settingOf(data.rows[run.row]) + '. ' + (run.events_each === 1 ?
    'Every event is drawn.' : 'Each step stands for ' + grouped(run.events_each) + ' events: the line is the most ' +
    'within them, the shade reaches down to the least. Both are exact.');
}
