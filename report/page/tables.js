/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tables: the runs of a case, and all settings over all cases. */

/* columns: { title, unit, meaning, value(item), show(item), fold, named }; show gives text or an element, value what to
 * sort by. Where the table is too narrow the columns with the highest `fold` leave first; those without one stay.
 * `named`: what the column is called below the table, if its title does not tell. */
function table(host, columns, items, options) {
  const body = element('tbody');
  const head = element('tr');
  const sorted = sortOf(host, columns);
  function fill() {
    const { value } = columns[sorted.by] || { value: item => items.indexOf(item) };
    const order = items.slice().sort((a, b) => compare(value(a), value(b)) * (sorted.falling ? -1 : 1));
    body.replaceChildren(...order.map(item => rowElement(columns, item, options)));
    [...head.children].forEach((th, i) =>
      th.setAttribute('aria-sort', i !== sorted.by ? 'none' : sorted.falling ? 'descending' : 'ascending'));
    hideFolded(host);
  }
  columns.forEach((column, i) => {
    const button = element('button', { type: 'button', textContent: column.title,
      title: (column.meaning || '').replaceAll('`', '') });
    if (column.unit)
      button.append(' ', element('span', { className: 'unit', textContent: '(' + column.unit + ')' }));
    button.addEventListener('click', () => {
      sorted.falling = sorted.by === i ? !sorted.falling : false;
      sorted.by = i;
      if (host.id)
        showInList('sort', host.id + '.' + (sorted.falling ? '-' : '') + i, isSortOf(host));
      fill();
    });
    const th = element('th', { scope: 'col', className: column.kind || '' }, button);
    head.append(th);
  });
  fill();
  host.replaceChildren(element('table', {}, element('thead', {}, head), body));
  keepFitting(host, columns);
}

const isSortOf = host => word => word.startsWith(host.id + '.');

/* How a table is sorted, as the view says; { by: -1 }: in the order given. */
function sortOf(host, columns) {
  const text = listOf('sort').find(isSortOf(host))?.slice(host.id.length + 1) ?? '', by = Number(text.replace('-', ''));
  return text !== '' && by in columns ? { by, falling: text.startsWith('-') } : { by: -1, falling: false };
}

/* ---- tables that are wider than their box ---- */

const fits = new Map();              /* by box: its columns, which are folded, the note below, whether all are wanted */
const widths = new ResizeObserver(entries => entries.forEach(({ target }) => {
  if (fits.get(target).width !== target.clientWidth)
    fit(target);
}));

/* From now on a box folds columns where they do not fit, and says what is folded or lies beyond its edge. */
function keepFitting(host, columns) {
  const there = fits.get(host), note = there?.note ?? element('p', { className: 'quiet fold-note' });
  fits.set(host, { columns, note, isAll: there?.isAll ?? listOf('columns').includes(host.id + '.wide'),
    folded: [] });
  host.after(note);
  widths.observe(host);
  fit(host);
}

function hideFolded(host) {
  const { columns, folded } = fits.get(host) ?? { columns: [] };
  if (columns.some(c => c.fold))
    for (const tr of host.querySelectorAll('tr'))
      columns.forEach((c, i) => tr.children[i].classList.toggle('folded', folded.includes(c)));
}

const isTooWide = host => host.scrollWidth > host.clientWidth + 1;

function fit(host) {
  const it = fits.get(host);
  it.width = host.clientWidth;
  it.folded = [];
  hideFolded(host);
  if (it.width === 0)
    return;
  const order = it.isAll ? [] : it.columns.filter(c => c.fold).sort((a, b) => b.fold - a.fold);
  while (order.length > 0 && isTooWide(host)) {
    it.folded.push(order.shift());
    hideFolded(host);
  }
  sayFit(host, it);
}

function sayFit(host, it) {
  const parts = [], isWide = isTooWide(host);
  const names = it.columns.filter(c => it.folded.includes(c)).map(c => c.named ?? c.title);
  if (names.length > 0)
    parts.push('Folded, because the page is narrow: ' + names.join('; ') + '.');
  if (isWide)
    parts.push('The table goes on to the right: scroll it sideways.');
  it.note.replaceChildren(parts.join(' '));
  if (names.length > 0 || (it.isAll && isWide && it.columns.some(c => c.fold)))
    it.note.append(' ', foldButton(host, it));
}

function foldButton(host, it) {
  const button = element('button', { type: 'button', className: 'plain', textContent: it.isAll ? 'Fold columns'
    : 'Show all columns' });
  button.addEventListener('click', () => {
    it.isAll = !it.isAll;
    if (host.id)
      showInList('columns', it.isAll ? host.id + '.wide' : undefined, word => word === host.id + '.wide');
    fit(host);
    it.note.querySelector('button')?.focus();
  });
  return button;
}

const fitAll = () => [...fits.keys()].filter(host => host.isConnected).forEach(fit);

/* Nulls last, whatever they are compared with. */
function compare(a, b) {
  if (a === b)
    return 0;
  if (a === null || a === undefined)
    return 1;
  if (b === null || b === undefined)
    return -1;
  return a < b ? -1 : 1;
}

function rowElement(columns, item, options) {
  const tr = element('tr', { className: options.isBest && options.isBest(item) ? 'best' : '' });
  columns.forEach((column, i) => {
    const shown = column.show(item);
    const td = element(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {});
    td.append(shown === null || shown === undefined ? '–' : shown);
    td.className = column.kind || '';
    const value = column.value(item);
    if (value !== null && value !== undefined) {
      td.dataset.value = value;
      if (/_bytes|_ns/.test(column.name || ''))
        td.title = grouped(value) + (column.name.endsWith('_ns') ? ' ns' : ' bytes');
    }
    if (column.name)
      td.dataset.column = column.name;
    tr.append(td);
  });
  return tr;
}

function columnOfRuns(c, unit) {
  const at = COLUMN.get(c.name);
  const column = { name: c.name, title: c.title, meaning: c.meaning, value: i => data.rows[i][at] };
  if (c.name.includes('_bytes')) {
    column.unit = unit.name;
    column.show = i => data.rows[i][at] === null ? null : (data.rows[i][at] / unit.bytes).toFixed(unit.digits);
  } else if (c.name.endsWith('_ns')) {
    column.unit = 'ms';
    column.show = i => data.rows[i][at] === null ? null : (data.rows[i][at] / 1e6).toFixed(1);
  } else if (c.name === 'fragmentation_utilization') {
    column.unit = '%';
    column.show = i => data.rows[i][at] === null ? null : (100 * data.rows[i][at]).toFixed(1);
  } else {
    column.show = i => data.rows[i][at] === null ? null : grouped(data.rows[i][at]);
  }
  return column;
}

/* A recording that ends at a refused request shows no run to the program's end. */
const endsRefused = () => data.cases[view.case].trace_ends === 'refused';
const OK_SO_FAR = 'ok so far: it serves the request at whose refusal the recording ends; what follows is not known';

function outcomeTag(outcome) {
  if (outcome === 'ok' && endsRefused())
    return element('span', { title: OK_SO_FAR, textContent: 'ok so far' });
  return outcome === 'ok' ? 'ok' : element('span', { className: 'tag ' + outcome,
    textContent: outcome === 'oom' ? 'out of memory' : outcome });
}

function settingCell(i) {
  const label = breakable(settingOf(data.rows[i]));
  if (!runOfRow(i))
    return label;
  const button = element('button', { type: 'button', title: 'show this run in detail' }, label);
  button.addEventListener('click', () => chooseRun(i));
  return button;
}

function mostBytes(rows) {
  return Math.max(...rows.map(i => takenOf(data.rows[i])), 1);
}

/* Six columns are enough to choose by, on a phone four; the others come with a button. */
const FEW_COLUMNS = ['outcome', 'card_peak_bytes', 'fragmentation_utilization', 'device_calls', 'device_time_ns'];
const PHONE_COLUMNS = ['outcome', 'card_peak_bytes', 'device_time_ns'];

function showAllColumns(event) {
  const isAll = event.target.getAttribute('aria-pressed') !== 'true';
  event.target.setAttribute('aria-pressed', isAll);
  showInList('columns', isAll ? 'rows' : undefined, word => word === 'rows');
  byId('rows').querySelector('table').classList.toggle('few', !isAll);
  fit(byId('rows'));
}

function drawRows() {
  const rows = rowsHere(), unit = unitOf(mostBytes(rows));
  const columns = [
    { title: 'setting', meaning: 'the policy, and what else differs', value: i => settingOf(data.rows[i]),
      show: settingCell },
    { name: 'outcome', title: 'outcome', meaning: 'how the run ended' + (endsRefused() ? '; ' + OK_SO_FAR : ''),
      value: i => data.rows[i][ROW.outcome],
      show: i => outcomeTag(data.rows[i][ROW.outcome]) },
    ...data.columns.map(c => columnOfRuns(c, unit)),
  ];
  for (const column of columns)
    column.kind = column.name === undefined || PHONE_COLUMNS.includes(column.name) ? ''
      : FEW_COLUMNS.includes(column.name) ? 'less' : 'more';
  rows.sort((a, b) => PLACE[a] - PLACE[b]);
  byId('so-far').hidden = !endsRefused() || !rows.some(i => isOk(data.rows[i]));
  byId('so-far').textContent = OK_SO_FAR[0].toUpperCase() + OK_SO_FAR.slice(1) + '.';
  table(byId('rows'), columns, rows, { isBest: i => bestHere() === i });
  const isAll = listOf('columns').includes('rows');
  byId('more-columns').setAttribute('aria-pressed', isAll);
  byId('rows').querySelector('table').classList.toggle('few', !isAll);
  fit(byId('rows'));
}

/* ---- many traces ---- */

function drawSettings() {
  const share = name => s => s[name] === undefined ? null : s[name].toFixed(3);
  const columns = [
    { title: 'setting', value: s => s.label, show: s => breakable(s.label) },
    { title: 'got through', value: s => s.ok, show: s => grouped(s.ok) },
    { title: 'possible', fold: 5, meaning: 'runs in cases that some setting gets through: a case that nothing fits ' +
      'counts against nobody', value: s => s.possible, show: s => grouped(s.possible) },
    { title: 'mean of card / requested', value: s => s.mean_share, show: share('mean_share') },
    { title: 'worst', fold: 2, value: s => s.worst_share, show: share('worst_share') },
    { title: 'out of memory', fold: 3, value: s => s.oom, show: s => grouped(s.oom) },
    { title: 'runs', fold: 6, value: s => s.runs, show: s => grouped(s.runs) },
    { title: 'driver calls', fold: 4, value: s => s.device_calls, show: s => grouped(s.device_calls) },
    { title: 'driver time', unit: 'ms', value: s => s.device_time_ns, show: s => (s.device_time_ns / 1e6).toFixed(1) },
  ];
  table(byId('settings'), columns, bestFirst(), { isBest: s => s === data.settings[data.best_setting] });
}

/* The page ranks nothing itself: the order comes with the data. */
function bestFirst() {
  return data.settings_best_first.map(i => data.settings[i]);
}

/* What a run takes of the card at its peak, by which runs are ranked;
 * results of older versions say what is reserved. */
function takenOf(row) {
  const card = cellOf(row, 'card_peak_bytes');
  return (card === null ? cellOf(row, 'peak_reserved_bytes') : card) || 0;
}

function shareOf(row) {
  const requested = cellOf(row, 'peak_requested_bytes');
  return requested > 0 ? takenOf(row) / requested : 1;
}
