/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A trace and its runs at any moment: what is live, who asked for it, where it lies, how much is reserved.
 */

/* What is drawn now: the trace, its unpacked runs by row, the groups of its requests, what was reserved as recorded. */
const scene = { trace: null, runs: new Map(), groups: null, liveSteps: null, recorded: null };

/* The first index whose value is above x; values, which may be a property of things, rise. */
function upperBound(things, x, valueOf = thing => thing) {
  let low = 0, high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (valueOf(things[middle]) > x)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* ---- requests ---- */

/* The requests that hold memory at a moment, in order of birth. */
function liveAt(trace, moment) {
  const live = [];
  for (let i = 0, n = upperBound(trace.born, moment); i < n; i++)
    if (trace.ended[i] > moment)
      live.push(i);
  return live;
}

/* Those among them that the program has not freed. */
const heldAt = (trace, moment) => liveAt(trace, moment).filter(i => trace.freed[i] > moment);

/* Sums in blocks of so many, each with its extremes: a search of many sums looks at blocks first. */
const STEPS_BLOCK = 64;

function withExtremes(steps) {
  const n = Math.ceil(steps.sum.length / STEPS_BLOCK);
  steps.least = new Float64Array(n).fill(Infinity);
  steps.most = new Float64Array(n).fill(-Infinity);
  for (let i = 0; i < steps.sum.length; i++) {
    const block = Math.floor(i / STEPS_BLOCK);
    steps.least[block] = Math.min(steps.least[block], steps.sum[i]);
    steps.most[block] = Math.max(steps.most[block], steps.sum[i]);
  }
  return steps;
}

/* The bytes of things that are there from `born`, which rises, to `ended`, as a sum that changes at moments:
 * { at, sum }, and its extremes by block. An end is sorted as one number, its moment and then whose it is: that is
 * faster than a pair. */
function stepsOf(born, ended, bytes) {
  const n = born.length, ends = Float64Array.from(ended, (moment, i) => moment * n + i).sort();
  const at = new Float64Array(2 * n + 1), sum = new Float64Array(2 * n + 1);
  let last = 0;
  const change = (moment, by) => {
    if (moment !== at[last]) {
      at[++last] = moment;
      sum[last] = sum[last - 1];
    }
    sum[last] += by;
  };
  for (let began = 0, over = 0; over < n;) {
    const moment = Math.floor(ends[over] / n);
    if (began < n && born[began] <= moment)
      change(born[began], bytes[began++]);
    else
      change(moment, -bytes[ends[over++] - moment * n]);
  }
  return withExtremes({ at: at.subarray(0, last + 1), sum: sum.subarray(0, last + 1) });
}

const valueAt = (steps, moment) => steps.sum[Math.max(0, upperBound(steps.at, moment) - 1)];

/* The indices [first, end) of the sums that count at moments [from, to):
 * the last one before, and all changes within. */
function stepsWithin(steps, from, to) {
  const first = Math.max(0, upperBound(steps.at, from) - 1);
  return [first, Math.max(first + 1, upperBound(steps.at, Math.ceil(to) - 1))];
}

/* The least and the most of a sum over the moments [from, to). */
function extremesOf(steps, from, to) {
  const [first, end] = stepsWithin(steps, from, to);
  let least = Infinity, most = -Infinity;
  for (let i = first; i < end;) {
    const block = i / STEPS_BLOCK, isWhole = i % STEPS_BLOCK === 0 && i + STEPS_BLOCK <= end;
    least = Math.min(least, isWhole ? steps.least[block] : steps.sum[i]);
    most = Math.max(most, isWhole ? steps.most[block] : steps.sum[i]);
    i += isWhole ? STEPS_BLOCK : 1;
  }
  return { least, most };
}

/* The moment within [from, to) at which the sum is largest: the first of them. */
function momentOfMost(steps, from, to) {
  const [first, end] = stepsWithin(steps, from, to);
  let best = first;
  for (let i = first + 1; i < end;) {
    const isPassed = i % STEPS_BLOCK === 0 && i + STEPS_BLOCK <= end && steps.most[i / STEPS_BLOCK] <= steps.sum[best];
    if (!isPassed && steps.sum[i] > steps.sum[best])
      best = i;
    i += isPassed ? STEPS_BLOCK : 1;
  }
  return Math.max(from, steps.at[best]);
}

const liveStepsOf = trace => stepsOf(trace.born, trace.freed, trace.bytes);

/* Bytes of live requests that are not drawn one by one, at the nearest moment before for which that is known. */
function restAt(trace, moment) {
  const n = trace.live.length - 1;
  if (trace.n_drawn === trace.n_requests)
    return 0;
  const sample = Math.min(n, Math.floor(moment * n / trace.n_events));
  return Math.max(0, trace.live[sample] - valueAt(scene.liveSteps, Math.floor(trace.n_events * sample / n)));
}

/* ---- words about them ---- */

/* The event that ends at a moment, as the recording names it. */
const eventText = ({ numbers }, moment) => numbers.length > 0
  ? 'record ' + grouped(numbers[Math.min(moment, numbers.length) - 1]) : 'event ' + grouped(moment - 1);

/* Where a moment is in the recording. */
const momentText = (trace, moment) => moment === 0 ? 'at the start' : 'after ' + eventText(trace, moment);

/* Frames of a stack, innermost first: { text, isOwn }. */
function framesOf(trace, stack) {
  const { nodes, callers, frames, kinds, texts } = trace.stacks, found = [];
  for (let node = stack > 0 ? nodes[stack - 1] : 0; node > 0; node = callers[node - 1])
    found.push({ text: texts[frames[node - 1]], isOwn: kinds[frames[node - 1]] === FRAME_OWN });
  return found;
}

const BACKWARD_NODE = /^torch::autograd::generated::(\w+)::apply\(/;

/* "train.py:19 forward" of "forward /home/me/train.py:19". */
function frameText(text) {
  const node = BACKWARD_NODE.exec(text);
  if (node)
    return '(backward pass, ' + node[1] + ')';
  const found = /^(.*?) ?(?:[^ ]*\/)?([^/ ]+:\d+)$/.exec(text);
  return found && !found[2].startsWith('??') ? found[2] + ' ' + found[1] : text;
}

const PYTHON_FRAME = /\.py:\d+\b/;

/* What `replay who` calls what has no stack: where Python was recorded it comes from a backward pass. */
const stacklessName = trace => trace.stacks.texts.some(text => PYTHON_FRAME.test(text))
  ? '(backward pass, no Python stack)' : '(no stack recorded)';

const lineOfStack = ({ stacks }, stack) => frameText(stacks.texts[stacks.lines[stack - 1]]);

/* The line of the program that made a request. */
function lineOf(trace, i) {
  if (trace.stack[i] > 0)
    return lineOfStack(trace, trace.stack[i]);
  return trace.born[i] === 0 ? '(before the recording)' : trace.stackless ??= stacklessName(trace);
}

/* "freed at record 812 by train.py:30 step", as far as that was recorded. */
const freedText = (trace, i) => 'freed at ' + eventText(trace, trace.freed[i]) +
  (trace.freer[i] > 0 ? ' by ' + lineOfStack(trace, trace.freer[i]) : '');

/* ---- groups ---- */

const GROUPS_COLOURED = 8;           /* the rest share one colour */

const SIZES_NAMED = 64;              /* more sizes than these are told by their power of two */

/* Names requests: those of one key share a name, which is made once. */
function namerBy(keyOf, nameOf) {
  const names = new Map();
  return i => {
    const key = keyOf(i);
    let name = names.get(key);
    if (name === undefined)
      names.set(key, name = nameOf(i));
    return name;
  };
}

function hasFewSizes(trace) {
  const sizes = new Set();
  for (let i = 0; i < trace.n && sizes.size <= SIZES_NAMED; i++)
    sizes.add(trace.bytes[i]);
  return sizes.size <= SIZES_NAMED;
}

/* How a request's size is named: exactly, or by the powers of two around it. */
function sizeNamer(trace) {
  if (hasFewSizes(trace))
    return namerBy(i => trace.bytes[i], i => bytesText(trace.bytes[i]));
  const powerOf = i => Math.floor(Math.log2(trace.bytes[i]));
  return namerBy(powerOf, i => bytesText(2 ** powerOf(i)) + ' to ' + bytesText(2 ** (powerOf(i) + 1)));
}

/* What a line's name depends on: the stack, and without one whether the request was there from the start. */
const lineKey = (trace, i) => trace.stack[i] > 0 ? trace.stack[i] : trace.born[i] === 0 ? -1 : 0;

/* Whether the recording tells what its requests are for. */
const hasCategories = trace => trace.categories !== null && trace.category.some(c => c > 0);

function groupNamer(trace, kind) {
  if (kind === 'size')
    return sizeNamer(trace);
  if (kind === 'find') {
    const isFound = finder(trace, view.find);
    return i => isFound(i) ? FOUND : 'all other requests';
  }
  const words = kind === 'category' && hasCategories(trace) ? trace.categories.split(',') : null;
  return words ? i => words[trace.category[i]] : namerBy(i => lineKey(trace, i), i => lineOf(trace, i));
}

/* Groups requests by line, size or category. The first are those with most bytes times moments;
 * their colours differ. */
function groupsOf(trace, kind) {
  const numberOf = new Map(), groups = [], of = new Uint32Array(trace.n), nameOf = groupNamer(trace, kind);
  for (let i = 0; i < trace.n; i++) {
    const name = nameOf(i);
    let number = numberOf.get(name);
    if (number === undefined) {
      numberOf.set(name, number = groups.length);
      groups.push({ name, area: 0, n: 0 });
    }
    groups[number].area += trace.bytes[i] * (trace.ended[i] - trace.born[i]);
    groups[number].n++;
    of[i] = number;
  }
  const order = groups.map((_, i) => i).sort((a, b) => groups[b].area - groups[a].area || a - b), rank = [];
  order.forEach((group, place) => { rank[group] = place; });
  return { groups: order.map(i => groups[i]), of: of.map(i => rank[i]) };
}

/* ---- a run ---- */

/* A map that is packed: what is placed in it gets the lowest gap that is large enough, of the first GAPS_LOOKED_AT, or
 * else a place above all others. */
const GAPS_LOOKED_AT = 1000;

class PackedMap {
  constructor() {
    this.gaps = [];                  /* { place, extent }, by place; none touches another, or the top */
    this.top = this.extent = 0;      /* the end of what is placed now, and of all that ever was */
  }

  take(extent) {
    const near = Math.min(this.gaps.length, GAPS_LOOKED_AT);
    let index = 0;
    while (index < near && this.gaps[index].extent < extent)
      index++;
    if (index === near) {
      this.top += extent;
      this.extent = Math.max(this.extent, this.top);
      return this.top - extent;
    }
    const gap = this.gaps[index], place = gap.place;
    gap.place += extent;
    gap.extent -= extent;
    if (gap.extent === 0)
      this.gaps.splice(index, 1);
    return place;
  }

  give(place, extent) {
    const low = upperBound(this.gaps, place, gap => gap.place);
    const gap = { place, extent }, before = this.gaps[low - 1], after = this.gaps[low];
    if (after && place + extent === after.place) {
      gap.extent += after.extent;
      this.gaps.splice(low, 1);
    }
    if (before && before.place + before.extent === place)
      before.extent += gap.extent;
    else
      this.gaps.splice(low, 0, gap);
    const last = this.gaps[this.gaps.length - 1];
    if (last.place + last.extent === this.top)
      this.top = this.gaps.pop().place;
  }
}

/* Gives each mapped part the range that it lies in. Ranges that stand at once do not overlap, so it is the last of them
 * that begins at or below the part. */
function findRanges(run) {
  const ranges = run.pieces.filter(m => m.kind === MEMORY_RANGE), standing = [];      /* by address */
  const ending = [...ranges].sort((a, b) => a.ended - b.ended);
  let born = 0, ended = 0;
  for (const m of run.mapped) {
    for (; born < ranges.length && ranges[born].born <= m.born; born++)
      standing.splice(upperBound(standing, ranges[born].addr, r => r.addr), 0, ranges[born]);
    for (; ended < ranges.length && ending[ended].ended <= m.born; ended++)
      standing.splice(standing.lastIndexOf(ending[ended], upperBound(standing, ending[ended].addr, r => r.addr)), 1);
    const range = standing[upperBound(standing, m.addr, r => r.addr) - 1];
    m.range = range && m.addr < range.addr + range.bytes ? range : undefined;
  }
}

/*
 * Gives each segment and range a place that it keeps all its life: the lowest that is free when it begins. So the map
 * of a run is packed, and nothing in it moves.
 *
 *     addresses   | A |.........| B |......| C |        packed   | A | C |  B  |
 */
function packMemory(run) {
  const map = new PackedMap();
  run.pieces = run.memory.filter(m => m.kind !== MEMORY_MAPPED);
  run.mapped = run.memory.filter(m => m.kind === MEMORY_MAPPED);
  for (const range of run.pieces)
    range.extent = range.kind === MEMORY_RANGE ? 0 : range.bytes;
  findRanges(run);
  for (const m of run.mapped)
    if (m.range)
      m.range.extent = Math.max(m.range.extent, m.addr + m.bytes - m.range.addr);
  const lasting = run.pieces.filter(m => m.extent > 0 && m.born < m.ended);
  const ending = [...lasting].sort((a, b) => a.ended - b.ended);
  let ended = 0;
  for (const piece of run.pieces)
    piece.place = 0;
  for (const piece of lasting) {
    for (; ending[ended].ended <= piece.born; ended++)
      map.give(ending[ended].place, ending[ended].extent);
    piece.place = map.take(piece.extent);
  }
  run.extent = map.extent;
}

function reservedStepsOf(run) {
  const held = run.memory.filter(m => m.kind !== MEMORY_RANGE);
  return stepsOf(held.map(m => m.born), held.map(m => m.ended), held.map(m => m.bytes));
}

function prepareRun(run) {
  packMemory(run);
  run.reserved = run.memory_left_out === 0 ? reservedStepsOf(run) : null;
  return run;
}

const RECORDED = -1;                 /* in the place of a row: no replay, the recording itself */

/* Of so many changes or more those between may have been left out (replay/results/recorded_reserved.h). */
const RESERVED_THINNED = 2048;

/* Whether a run reserves what was recorded, at each moment that it has. */
function isAsRecorded(run, reserved) {
  const isSame = moment => moment > run.n_moments || valueAt(run.reserved, moment) === valueAt(reserved, moment);
  return run.reserved !== null && reserved.at.every(isSame) &&
    (reserved.at.length >= RESERVED_THINNED || run.reserved.at.every(isSame));
}

/* What was reserved as recorded: as a run without requests, `line`, unless the run as it ran draws the same to its end;
 * and whether that run is as recorded. Null where the recording does not tell, or where another card is asked for. */
function recordedOf(trace, runs) {
  const { answer, worst_rank: worst } = data, ran = runs.get(answer?.as_it_ran);
  if (!trace.reserved || (answer ? answer.recorded_reserved_bytes === 0 : worst === undefined))
    return null;
  const isExact = ran !== undefined && isAsRecorded(ran, trace.reserved);
  return { isExact, line: isExact && ran.n_moments >= trace.n_events ? null
    : { row: RECORDED, reserved: trace.reserved, n_moments: trace.n_events } };
}

/* Pieces of memory at a moment by address, each with the requests in it. */
function memoryAt(run, trace, moment) {
  const pieces = run.pieces.filter(m => m.born <= moment && moment < m.ended).sort((a, b) => a.addr - b.addr);
  const starts = pieces.map(m => m.addr), found = pieces.map(piece => ({ piece, blocks: [], mapped: [] }));
  const pieceOf = addr => {
    const i = upperBound(starts, addr) - 1;
    return i >= 0 && addr < pieces[i].addr + pieces[i].bytes ? found[i] : null;
  };
  for (const m of run.mapped)
    if (m.born <= moment && moment < m.ended)
      pieceOf(m.addr)?.mapped.push(m);
  for (const i of liveAt(trace, moment))
    if (run.addr[i] > 0 && moment <= run.n_moments)
      pieceOf(run.addr[i])?.blocks.push(i);
  for (const one of found)
    one.blocks.sort((a, b) => run.addr[a] - run.addr[b]);
  return found;
}

/* The free parts of the memory held at a moment: { piece, addr, bytes, before, after }; the neighbours are requests,
 * -1: none. */
function holesAt(run, trace, moment) {
  const holes = [];
  for (const { piece, blocks, mapped } of memoryAt(run, trace, moment)) {
    const parts = piece.kind === MEMORY_RANGE ? joinParts(mapped)
      : [{ addr: piece.addr, end: piece.addr + piece.bytes }];
    for (const part of parts) {
      const here = blocks.filter(i => run.addr[i] >= part.addr && run.addr[i] < part.end);
      let addr = part.addr, before = -1;
      for (const i of [...here, -1]) {
        const end = i < 0 ? part.end : run.addr[i];
        if (end > addr)
          holes.push({ piece, addr, bytes: end - addr, before, after: i });
        if (i >= 0)
          addr = Math.max(addr, run.addr[i] + run.block[i]);
        before = i;
      }
    }
  }
  return holes;
}

/* Mapped parts that touch become one. */
function joinParts(mapped) {
  const parts = [];
  for (const m of mapped.slice().sort((a, b) => a.addr - b.addr)) {
    const last = parts[parts.length - 1];
    if (last && last.end === m.addr)
      last.end = m.addr + m.bytes;
    else
      parts.push({ addr: m.addr, end: m.addr + m.bytes });
  }
  return parts;
}
