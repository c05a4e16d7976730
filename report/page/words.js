/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The data of the page, numbers as text, and elements. Text from a trace is set as text (textContent, attributes),
 * never as markup. The data hold exact numbers; only the page formats them.
 */

'use strict';

const KIB = 1024, MIB = KIB * 1024, GIB = MIB * 1024;

/* Foreign text as base/shown.h cleans it: `?` stands for what ends lines or sets the direction of what is around it. */
const UNSHOWN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;
const shownText = text => text.replace(UNSHOWN, '?');
const data = JSON.parse(document.getElementById('data').textContent, (name, value) =>
  typeof value === 'string' ? shownText(value) : value);
/* How a row begins; what follows are data.columns. */
const ROW = { at: 0, setting: 1, outcome: 2, capacity: 3, first: 4 };
/* By row: its place in the order, best first. */
const PLACE = [];
data.rows_best_first.forEach((row, place) => { PLACE[row] = place; });
const COLUMN = new Map(data.columns.map((c, i) => [c.name, ROW.first + i]));

/* Refused runs, by the names of their columns. */
const OOMS = data.ooms.map(([row, ...values]) =>
  Object.fromEntries([['row', row], ...data.oom_columns.map((name, i) => [name, values[i]])]));

/* ---- elements ---- */

const byId = id => document.getElementById(id);

function element(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties || {});
  e.append(...children);
  return e;
}

function svg(name, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {}))
    e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/* ---- numbers as text ---- */

const grouped = n => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');

function bytesText(n) {
  const size = Math.abs(n);
  if (size >= 16 * GIB)
    return (n / GIB).toFixed(2) + ' GiB';
  if (size >= MIB)
    return (n / MIB).toFixed(1) + ' MiB';
  return size >= KIB ? (n / KIB).toFixed(1) + ' KiB' : n + ' B';
}

/* As the program writes sizes that readers compare: 1340 MiB, 372.80 MiB. */
function exactText(n) {
  const unit = n >= 16 * GIB ? [GIB, ' GiB'] : n >= MIB ? [MIB, ' MiB'] : n >= KIB ? [KIB, ' KiB'] : [1, ' B'];
  return (n % unit[0] === 0 ? n / unit[0] : (n / unit[0]).toFixed(2)) + unit[1];
}

/* The same in the unit of a larger size that it is compared with: 0.98 MiB beside 192.47 MiB. */
function besideText(n, other) {
  if (other >= 16 * GIB && n < 16 * GIB && n >= 100 * MIB)
    return (n / GIB).toFixed(2) + ' GiB';
  return other >= MIB && n < MIB && n >= 0.1 * MIB ? (n / MIB).toFixed(2) + ' MiB' : exactText(n);
}

/* A card's size, as people name it: 7.79 GiB, 300 MiB. */
function cardText(n) {
  const unit = n >= 4 * GIB || n % GIB === 0 ? { name: ' GiB', bytes: GIB } : { name: ' MiB', bytes: MIB };
  return Number((n / unit.bytes).toFixed(2)) + unit.name;
}

/* What a run can have: a card, or what was reserved and free at a refusal, if the recording shows nothing else. */
const roomText = bytes => data.answer?.has_card && !data.answer.is_card_named
  ? 'PyTorch could have ' + exactText(bytes) : 'the card ' + cardText(bytes);

/* "the card of 1640 MiB" of "sim:1719664640", as a recording without a named card has it. */
function deviceText(device) {
  const found = /^sim:(\d+)$/.exec(device);
  return found ? 'the card of ' + cardText(Number(found[1])) : device;
}

function timeText(ns) {
  if (ns >= 1e9)
    return (ns / 1e9).toFixed(2) + ' s';
  return ns >= 1e6 ? (ns / 1e6).toFixed(1) + ' ms' : ns >= 1e3 ? (ns / 1e3).toFixed(0) + ' µs' : ns + ' ns';
}

/* One unit for everything that is compared, by the largest of it. */
function unitOf(most) {
  return most >= 10 * GIB ? { name: 'GiB', bytes: GIB, digits: 2 }
    : most >= 10 * MIB ? { name: 'MiB', bytes: MIB, digits: 1 } : { name: 'KiB', bytes: KIB, digits: 1 };
}

/* Round numbers from 0 to at least `most`, about `n` of them. */
function ticksTo(most, n) {
  const rough = most / n, power = Math.pow(10, Math.floor(Math.log10(rough || 1)));
  const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(s => s >= rough) || power;
  const ticks = [];
  for (let t = 0; t <= most * 1.0001; t += step)
    ticks.push(Math.round(t * 1e6) / 1e6);
  return ticks;
}

/* ---- runs and settings ---- */

const traceName = path => path.replace(/^.*\//, '').replace(/\.trace(\.zst)?$/, '');

const cellOf = (row, name) => row[COLUMN.get(name)];
const settingOf = row => data.settings[row[ROW.setting]].label;
/* All settings are PyTorch's: then the page need not say so in each of them. */
const PREFIX = 'pytorch:';
const isOnePolicy = data.settings.length > 1 && data.settings.every(s => (s.label + ':').startsWith(PREFIX));
const shortLabel = label => isOnePolicy && label.startsWith(PREFIX) ? label.slice(PREFIX.length) : label;
/* The run that is best; none where no setting cures what the page is about. */
const bestHere = () => data.answer?.is_uncured ? undefined : data.cases[view.case].best;
const isOk = row => row[ROW.outcome] === 'ok';
const rowsHere = () => data.rows.map((_, i) => i).filter(i => data.rows[i][ROW.at] === view.case);
const runOfRow = i => data.runs.find(r => r.row === i && r.placed !== undefined);
const wordOfEvents = () => data.cases[view.case].trace_numbering === 'source' ? 'record' : 'event';
const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

/* A sentence, in which what stands between two backticks is to be typed. */
const typedParts = text => text.split(/`([^`]*)`/).map((part, i) => i % 2 === 0 ? part
  : element('code', { textContent: part }));

/* A setting's label, which may break after a comma, a colon or an underline. */
function breakable(label) {
  const name = element('span', { className: 'label', title: label });
  for (const part of shortLabel(label).split(/(?<=[,;:_])/))
    name.append(part, element('wbr'));
  return name;
}
