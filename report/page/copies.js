/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The runs on changed copies of the traces: a row for each setting, trace and card, with quantiles over its copies. */

const QUANTILE_TITLES = ['least', 'lower quartile', 'median', 'upper quartile', 'most'];
const QUANTILE_FOLDS = [1, 5, 0, 4, 0];

function quantileColumn(title, q, unit) {
  const value = g => g.peak_reserved_bytes ? g.peak_reserved_bytes[q] : null;
  return { name: 'peak_reserved_bytes', fold: QUANTILE_FOLDS[q], title: 'reserved, ' + title, unit: unit.name, value,
    show: g => value(g) === null ? null : (value(g) / unit.bytes).toFixed(unit.digits) };
}

function drawCopies() {
  const groups = data.copies;
  if (groups.length === 0)
    return;
  const unit = unitOf(Math.max(...groups.map(g => g.peak_reserved_bytes ? g.peak_reserved_bytes[4] : 0), 1));
  const median = g => g.device_time_ns ? g.device_time_ns[2] : null;
  const columns = [
    { title: 'setting', value: g => g.policy, show: g => breakable(g.policy) },
    { title: 'trace', value: g => g.trace_path, show: g => g.trace_path.replace(/^.*\//, '') },
    { title: 'card', fold: 3, value: g => g.device, show: g => g.device },
    { title: 'sizes differ by', fold: 7, unit: '%', value: g => g.copy_sizes_percent, show: g => g.copy_sizes_percent },
    { title: 'copies', fold: 6, value: g => g.runs, show: g => grouped(g.runs) },
    { title: 'got through', fold: 2, value: g => g.ok, show: g => grouped(g.ok) },
    ...QUANTILE_TITLES.map((title, q) => quantileColumn(title, q, unit)),
    { name: 'device_time_ns', title: 'driver time, median', unit: 'ms', value: median,
      show: g => median(g) === null ? null : (median(g) / 1e6).toFixed(1) },
  ];
  table(byId('copies'), columns, groups, {});
  byId('copies-part').hidden = false;
}
