/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A sweep as a grid: a row for each trace, a column for each setting, a grid for each card. What differs comes first,
 * settings that never differ share a column, and a cell opens its run.
 */

const GRID_ROWS = 40;                /* of a grid; a button shows the rest */
const SPREAD_LEAST = 1.05;           /* what counts as a difference in memory: 5 percent */
const grid = { cells: null, isWhole: new Set() };

/* By setting and case: the row of the table. */
function gridCells() {
  const cells = data.settings.map(() => []);
  data.rows.forEach((row, i) => { cells[row[ROW.setting]][row[ROW.at]] = i; });
  return cells;
}

/* ---- what is interesting ---- */

/* Of a case: whether some setting gets through and another does not, and the ratio of most to least memory. */
function interestOf(at) {
  const rows = data.settings.map((_, s) => grid.cells[s][at]).filter(i => i !== undefined).map(i => data.rows[i]);
  const taken = rows.filter(isOk).map(takenOf), least = Math.min(...taken), most = Math.max(...taken);
  return { at, differs: taken.length > 0 && taken.length < rows.length, fails: taken.length < rows.length,
    spread: taken.length > 0 && least > 0 ? most / least : 1 };
}

const byInterest = (a, b) => b.differs - a.differs || b.spread - a.spread || b.fails - a.fails || a.at - b.at;

const GRID_FILTERS = {
  all: () => true,
  differs: one => one.differs,
  spread: one => one.spread >= SPREAD_LEAST,
  fails: one => one.fails,
};

/* ---- columns ---- */

/* Settings with the same result everywhere share a column; the best comes first. */
function gridColumns() {
  const columns = new Map();
  for (const s of data.settings_best_first) {
    const results = JSON.stringify(data.cases.map((_, at) => {
      const i = grid.cells[s][at];
      return i === undefined ? null : [data.rows[i][ROW.outcome], takenOf(data.rows[i])];
    }));
    columns.set(results, [...(columns.get(results) || []), s]);
  }
  return [...columns.values()];
}

function columnHead(settings) {
  const names = settings.map(s => data.settings[s].label);
  const head = element('span', { className: 'upright' }, breakable(names[0]));
  if (names.length > 1)
    head.append(' +' + (names.length - 1));
  return element('th', { scope: 'col', title: names.join('\n') }, head);
}

/* ---- cells ---- */

function cellText(row) {
  if (!isOk(row))
    return row[ROW.outcome] === 'oom' ? 'OOM' : 'err';
  const share = shareOf(row);
  return share < 9.995 ? share.toFixed(2) : share.toFixed(0);
}

function gridCell(i, n) {
  if (i === undefined)
    return element('td');
  const row = data.rows[i], button = element('button', { type: 'button', textContent: cellText(row) });
  button.setAttribute('aria-label', settingOf(row) + ': ' + (isOk(row) ? bytesText(takenOf(row)) + ' of the card, ' +
    cellText(row) + ' of what is requested' : cellText(row)));
  button.addEventListener('click', () => openRun(i));
  const td = element('td', { className: isOk(row) ? 'level' : 'oom' }, button);
  td.dataset.settings = n;
  if (isOk(row))
    td.style.setProperty('--level', Math.min(5, Math.max(0, Math.log2(shareOf(row)) * 5)).toFixed(2));
  return td;
}

/* Shows the case of a run; and the run as run A, if it is drawn in detail. */
async function openRun(i) {
  const run = runOfRow(i);
  await chooseCase(data.rows[i][ROW.at], run ? { a: i } : {});
  if (!run)
    sayWhyNot(rowsHere(), i);
  byId(run ? 'detail' : 'runs').scrollIntoView();
}

/* ---- grids ---- */

function gridOf(title, interests, columns, nameOf) {
  const shown = grid.isWhole.has(title) ? interests : interests.slice(0, GRID_ROWS);
  const head = element('tr', {}, element('th', { scope: 'col', textContent: 'trace or card' }),
    ...columns.map(columnHead));
  const body = shown.map(({ at, differs }) => {
    const name = element('th', { scope: 'row', textContent: nameOf(at), title: data.cases[at].label });
    if (differs)
      name.append(' ', element('span', { className: 'tag', textContent: 'outcome differs' }));
    return element('tr', {}, name, ...columns.map(settings => gridCell(grid.cells[settings[0]][at], settings.length)));
  });
  const parts = [element('h4', { textContent: title }), element('table', {}, element('thead', {}, head),
    element('tbody', {}, ...body))];
  if (shown.length < interests.length) {
    const more = element('button', { type: 'button', className: 'plain', textContent: 'Show ' +
      grouped(interests.length - shown.length) + ' more' });
    more.addEventListener('click', () => {
      grid.isWhole.add(title);
      drawGrid();
    });
    parts.push(element('p', {}, more));
  }
  return parts;
}

/* "rank 3", or a trace's file. */
const traceOfCase = at => data.worst_rank === undefined ? traceName(data.cases[at].trace_path)
  : 'rank ' + data.cases[at].rank;

const namesOfCase = at => (data.cases[at].label + ' ' + deviceText(data.cases[at].device)).toLowerCase();

/* The grids: one for each card; of a single trace one with a row for each card. */
function drawGrid() {
  const columns = gridColumns(), wanted = view.cases.toLowerCase();
  const interests = data.cases.map((_, at) => interestOf(at)).filter(GRID_FILTERS[view.filter])
    .filter(one => namesOfCase(one.at).includes(wanted)).sort(byInterest);
  const cards = [...new Set(interests.map(one => data.cases[one.at].device))];
  const parts = data.n_traces === 1 ? gridOf('All cards', interests, columns, at => deviceText(data.cases[at].device))
    : cards.flatMap(card => gridOf(deviceText(card), interests.filter(one => data.cases[one.at].device === card),
      columns, traceOfCase));
  byId('matrix').replaceChildren(...parts);
  keepFitting(byId('matrix'), []);
  byId('matrix-says').textContent = grouped(interests.length) + ' of ' + grouped(data.cases.length) + ' cases, ' +
    grouped(columns.length) + ' columns for ' + grouped(data.settings.length) + ' settings.';
}

function listenToGrid() {
  const filter = byId('grid-filter'), text = byId('grid-text');
  filter.value = view.filter;
  text.value = view.cases;
  filter.addEventListener('change', () => show({ filter: filter.value }));
  text.addEventListener('input', () => show({ cases: text.value }));
  onView(['filter', 'cases'], drawGrid);
}

/* The lines by which the worst rank and the least differ, as `replay FOLDER` says them. */
function drawRankLines() {
  const { ranks } = data;
  byId('ranks-part').hidden = !ranks;
  if (!ranks)
    return;
  const [worst, least] = [ranks.worst, ranks.least].map(traceOfCase), more = ranks.n_lines - ranks.lines.length;
  byId('ranks-says').textContent = ranks.n_lines === 0
    ? 'No line of the program holds more in one than in another at its peak.'
    : 'What each line holds at the peak of ' + worst + ', which needs most, and of ' + least + ', which needs least.' +
      (more > 0 ? ' ' + grouped(more) + (more === 1 ? ' line differs' : ' lines differ') + ' less.' : '');
  byId('ranks').hidden = ranks.n_lines === 0;
  const held = bytes => bytes === 0 ? '0 MiB' : exactText(bytes);
  table(byId('ranks'), [
    { title: 'line', value: ([line]) => line, show: ([line]) => breakable(line) },
    { title: worst, fold: 2, value: ([, bytes]) => bytes, show: ([, bytes]) => held(bytes) },
    { title: least, fold: 1, value: ([, , bytes]) => bytes, show: ([, , bytes]) => held(bytes) },
    { title: 'difference', value: ([, a, b]) => Math.abs(a - b),
      show: ([, a, b]) => (a > b ? '+' : '−') + besideText(Math.abs(a - b), Math.max(a, b)) },
  ], ranks.lines, {});
}

/* The folders with which all paths begin. */
function commonFolder(paths) {
  let n = paths[0].lastIndexOf('/') + 1;
  while (n > 0 && !paths.every(path => path.startsWith(paths[0].slice(0, n))))
    n = paths[0].lastIndexOf('/', n - 2) + 1;
  return paths[0].slice(0, n);
}

function drawMany() {
  if (data.cases.length < 2)
    return;
  const select = byId('pick-case').querySelector('select');
  const isPair = DIFFERENCE?.kind === 'traces';
  grid.cells = gridCells();
  const folder = commonFolder(data.cases.map(c => c.trace_path));
  const nameOf = i => isPair ? 'AB'[i] : data.worst_rank === undefined ? i + 1 : traceOfCase(i);
  select.append(...data.cases.map((c, i) => element('option', { textContent: nameOf(i) + ': ' +
    (c.label.startsWith(folder) ? c.label.slice(folder.length) : c.label) })));
  select.addEventListener('change', () => chooseCase(select.selectedIndex));
  byId('pick-case').hidden = false;
  if (isPair)
    return;
  byId('over-cases').hidden = false;
  drawSettings();
  drawRankLines();
  drawGrid();
  listenToGrid();
}
