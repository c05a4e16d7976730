/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A benchmark: on which share of its traces each policy survives, by the memory it has; with intervals. */

const SURVIVAL = { width: 640, height: 260, left: 48, bottom: 28, top: 10, right: 48 };

/* x: capacities at equal distances; y: the share, from 0 to 1. */
const survivalX = (i, n) => SURVIVAL.left + i * (SURVIVAL.width - SURVIVAL.left - SURVIVAL.right) / Math.max(n - 1, 1);
const survivalY = share => SURVIVAL.top + (1 - share) * (SURVIVAL.height - SURVIVAL.top - SURVIVAL.bottom);

function survivalAxes(percents) {
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap(share => [
    svg('line', { x1: SURVIVAL.left, x2: SURVIVAL.width - SURVIVAL.right, y1: survivalY(share), y2: survivalY(share),
      stroke: color('line') }),
    svg('text', { x: SURVIVAL.left - 6, y: survivalY(share) + 4, 'text-anchor': 'end', 'font-size': 12,
      fill: color('quiet') }, 100 * share + ' %')]);
  return parts.concat(percents.map((p, i) => svg('text', { x: survivalX(i, percents.length), y: SURVIVAL.height - 8,
    'text-anchor': 'middle', 'font-size': 12, fill: color('quiet') }, (p / 100).toFixed(2) + ' × bound')));
}

/* The curve of a policy, and the interval at each of its points when it is chosen. */
function survivalCurve(row, n, isChosen) {
  const points = row.survived.slice(0, n).map(([k], i) => survivalX(i, n) + ',' + survivalY(k / row.traces)).join(' ');
  const line = svg('polyline', { points, fill: 'none', stroke: color(isChosen ? 'chosen' : 'quiet'),
    'stroke-width': isChosen ? 3 : 1, opacity: isChosen ? 1 : 0.5 }, svg('title', {}, row.policy));
  const bars = isChosen ? row.survived.slice(0, n).map(([, low, high], i) => svg('line', { x1: survivalX(i, n),
    x2: survivalX(i, n), y1: survivalY(low), y2: survivalY(high), stroke: color('chosen') })) : [];
  return [line, ...bars];
}

function drawSurvivalChart(chosen) {
  const percents = data.survival_percents.slice(0, -1), n = percents.length;
  const rows = data.survival.filter(r => r !== chosen).concat([chosen]);
  const chart = svg('svg', { viewBox: '0 0 ' + SURVIVAL.width + ' ' + SURVIVAL.height, role: 'img',
    'aria-label': 'Share of traces survived by ' + chosen.policy + ', over capacity' }, ...survivalAxes(percents),
    ...rows.flatMap(r => survivalCurve(r, n, r === chosen)));
  byId('survival-chart').replaceChildren(chart);
}

function survivalColumn(i) {
  const value = row => row.survived[i][0];
  return { fold: 1, title: (data.survival_percents[i] / 100).toFixed(2) + ' × bound', value,
    show: row => value(row) + ' (' + row.survived[i].slice(1).map(s => (100 * s).toFixed(0)).join('–') + ' %)' };
}

function survivalPolicy(row) {
  const button = element('button', { type: 'button', title: 'show its curve' }, breakable(row.policy));
  button.addEventListener('click', () => drawSurvivalChart(row));
  return button;
}

function drawSurvival() {
  if (data.survival.length === 0)
    return;
  const share = name => row => row[name] === undefined ? null : row[name].toFixed(3);
  const columns = [
    { title: 'policy', value: row => row.policy, show: survivalPolicy },
    ...data.survival_percents.slice(0, -1).map((_, i) => survivalColumn(i)),
    { title: 'card / bound, mean', value: row => row.mean_share, show: share('mean_share') },
    { title: 'worst', fold: 3, value: row => row.worst_share, show: share('worst_share') },
    { title: 'driver time', fold: 2, unit: 'ms', value: row => row.device_time_ns,
      show: row => (row.device_time_ns / 1e6).toFixed(1) },
  ];
  table(byId('survival'), columns, data.survival, {});
  drawSurvivalChart(data.survival[0]);
  byId('survival-part').hidden = false;
}
