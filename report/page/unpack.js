/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Unpacks what replay/results/packed_page.h packs: base 85, under it deflate, under it numbers in groups of 7 bits.
 * Numbers are below 2^53, so a double holds each exactly.
 */

/* Reads numbers one after the other. */
class Columns {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  number() {
    let scale = 1, value = 0, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }

  difference() {
    const code = this.number();
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  }

  text() {
    const n = this.number();
    this.at += n;
    return shownText(new TextDecoder().decode(this.bytes.subarray(this.at - n, this.at)));
  }

  /* A column of n numbers, and those of n differences and of n numbers added up. A loop, because a page has millions:
   * Float64Array.from takes five times as long. */
  column(n) {
    const values = new Float64Array(n);
    for (let i = 0; i < n; i++)
      values[i] = this.number();
    return values;
  }

  sums(n, from = 0) {
    const values = new Float64Array(n);
    for (let i = 0, sum = from; i < n; i++)
      values[i] = sum += this.difference();
    return values;
  }

  rising(n) {
    const values = new Float64Array(n);
    for (let i = 0, sum = 0; i < n; i++)
      values[i] = sum += this.number();
    return values;
  }

  /* Addresses of things of these sizes, each as a difference to the last of its size; the first to the one before. */
  addresses(sizes) {
    const last = new Map(), values = new Float64Array(sizes.length);
    for (let i = 0, before = 0; i < sizes.length; i++) {
      values[i] = before = (last.get(sizes[i]) ?? before) + this.difference();
      last.set(sizes[i], before);
    }
    return values;
  }

  texts(n) {
    return Array.from({ length: n }, () => this.text());
  }
}

const columnsOf = async text => new Columns(await window.replayPage.inflated(text));

/* ---- a trace ---- */

/* `numbers`: of all events in the recording, empty if they are not kept. */
function unpackRequests(c, numbers) {
  const n = c.number();
  const t = { n, born: c.rising(n), ended: c.column(n), freed: c.column(n), stack: c.column(n), freer: c.column(n),
    stream: c.column(n), pool: c.column(n), category: c.column(n) };
  t.place = numbers.length > 0 ? t.born.map(born => born > 0 ? numbers[born - 1] : -1) : c.sums(n, -1);
  const size = c.column(n), sizes = c.column(c.number());
  t.bytes = size.map(i => sizes[i]);
  for (let i = 0; i < n; i++) {
    t.ended[i] += t.born[i];
    t.freed[i] = t.ended[i] - t.freed[i];
  }
  return t;
}

/* FRAME_OWN is the program's own code; a frame is its text. */
const FRAME_OWN = 0;

function unpackStacks(c) {
  const n = c.number(), kinds = c.column(n), texts = c.texts(n), nNodes = c.number();
  const callers = Float64Array.from({ length: nNodes }, (_, i) => i + c.difference());
  const frames = c.column(nNodes), nStacks = c.number();
  return { kinds, texts, callers, frames, nodes: c.column(nStacks), lines: c.column(nStacks) };
}

function unpackEvents(c) {
  const numbers = c.rising(c.number()), nSamples = c.number(), live = c.sums(nSamples + 1);
  const nMarks = c.number(), marks = c.rising(nMarks), labels = c.texts(nMarks);
  const nRefusals = c.number(), refused = c.rising(nRefusals), sizes = c.column(nRefusals);
  const steps = c.rising(c.number()), nReserved = c.number();
  const reserved = nReserved > 0 ? withExtremes({ at: c.rising(nReserved), sum: c.sums(nReserved) }) : null;
  const flushes = c.rising(c.number());
  return { numbers, live, steps, reserved, flushes, marks: labels.map((label, i) => ({ label, moment: marks[i] })),
    refusals: Array.from(sizes, (bytes, i) => [refused[i], bytes]) };
}

async function unpackTrace(index) {
  const packed = data.traces[index], runs = data.runs.filter(run => run.trace === index);
  const [requests, stacks, events, courses] = await Promise.all(['requests', 'stacks', 'events', 'courses'].map(name =>
    columnsOf(packed[name])));
  const told = unpackEvents(events);
  await giveWay();
  const asked = unpackRequests(requests, told.numbers);
  await giveWay();
  return { ...packed, ...told, ...asked, stacks: unpackStacks(stacks), runs, courses: unpackCourses(courses, runs) };
}

/* ---- a run ---- */

/* By request: address of its block (0: nowhere) and bytes of the block. */
function unpackPlaced(c, trace) {
  const unit = c.number(), isPlaced = c.column(trace.n), placed = [];
  const addr = new Float64Array(trace.n), block = new Float64Array(trace.n);
  for (let i = 0; i < trace.n; i++)
    if (isPlaced[i])
      placed.push(i);
  c.addresses(placed.map(i => trace.bytes[i])).forEach((at, k) => { addr[placed[k]] = at * unit; });
  for (const i of placed)
    block[i] = trace.bytes[i] + c.number();
  return { addr, block };
}

const MEMORY_RANGE = 1, MEMORY_MAPPED = 2;

function unpackMemory(c) {
  const n = c.number(), kind = c.column(n), born = c.rising(n), life = c.column(n), bytes = c.column(n);
  const addr = c.addresses(bytes);
  return Array.from({ length: n }, (_, i) =>
    ({ kind: kind[i], born: born[i], ended: born[i] + life[i], addr: addr[i], bytes: bytes[i] }));
}

/* The courses of all runs of a trace: buckets of events, and of each gauge the least and the most within a bucket.
 * Column by column for all runs, because they are much alike. */
function unpackCourses(c, runs) {
  const sizes = runs.map(() => c.number());
  const courses = runs.map((run, k) => {
    let next = 0;
    const moment = Float64Array.from({ length: sizes[k] }, () => {
      const at = next + c.difference();
      next = at + run.events_each;
      return at;
    });
    return { n: sizes[k], moment };
  });
  courses.forEach(course => { course.time = c.rising(course.n); });
  for (const gauge of data.gauges)
    for (const course of courses) {
      const least = c.sums(course.n), above = c.column(course.n);
      course[gauge.name] = { least, most: least.map((l, i) => l + above[i]) };
    }
  return courses;
}

/* A text may be the number of an earlier run that has the same. */
function packedText(run, name) {
  return typeof run[name] === 'number' ? data.runs[run[name]][name] : run[name];
}

async function unpackRun(run, trace) {
  const [placed, memory] = await Promise.all(['placed', 'memory'].map(name => columnsOf(packedText(run, name))));
  return { ...run, ...unpackPlaced(placed, trace), memory: unpackMemory(memory),
    course: trace.courses[trace.runs.indexOf(run)] };
}
