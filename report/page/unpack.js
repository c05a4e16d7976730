/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Unpacks what replay/results/packed_page.h packs: base64, under it deflate, under it numbers in groups of 7 bits.
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
    return new TextDecoder().decode(this.bytes.subarray(this.at - n, this.at));
  }

  /* A column of n numbers, and one of n differences added up. */
  column(n) {
    return Float64Array.from({ length: n }, () => this.number());
  }

  sums(n, from = 0) {
    let sum = from;
    return Float64Array.from({ length: n }, () => sum += this.difference());
  }

  rising(n) {
    let sum = 0;
    return Float64Array.from({ length: n }, () => sum += this.number());
  }

  texts(n) {
    return Array.from({ length: n }, () => this.text());
  }
}

async function columnsOf(base64) {
  const packed = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Columns(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/* ---- a trace ---- */

function unpackRequests(c) {
  const n = c.number();
  const t = { n, born: c.rising(n), ended: c.column(n), freed: c.column(n), stack: c.column(n), stream: c.column(n),
    pool: c.column(n), category: c.column(n), place: c.sums(n, -1) };
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
  return { numbers, live, marks: labels.map((label, i) => ({ label, moment: marks[i] })) };
}

async function unpackTrace(packed) {
  const [requests, stacks, events] = await Promise.all([packed.requests, packed.stacks, packed.events].map(columnsOf));
  return { ...packed, ...unpackRequests(requests), ...unpackEvents(events), stacks: unpackStacks(stacks) };
}

/* ---- a run ---- */

/* By request: address of its block (0: nowhere) and bytes of the block. */
function unpackPlaced(c, trace) {
  const unit = c.number(), isPlaced = c.column(trace.n);
  const addr = new Float64Array(trace.n), block = new Float64Array(trace.n);
  let last = 0;
  for (let i = 0; i < trace.n; i++)
    if (isPlaced[i])
      addr[i] = (last += c.difference()) * unit;
  for (let i = 0; i < trace.n; i++)
    if (isPlaced[i])
      block[i] = trace.bytes[i] + c.number();
  return { addr, block };
}

const MEMORY_RANGE = 1, MEMORY_MAPPED = 2;

function unpackMemory(c) {
  const n = c.number(), kind = c.column(n), born = c.rising(n), life = c.column(n), addr = c.sums(n), bytes = c.column(n);
  return Array.from({ length: n }, (_, i) =>
    ({ kind: kind[i], born: born[i], ended: born[i] + life[i], addr: addr[i], bytes: bytes[i] }));
}

/* Buckets of events, and of each gauge the least and the most within a bucket. */
function unpackCourse(c, eventsEach) {
  const n = c.number();
  let next = 0;
  const moment = Float64Array.from({ length: n }, () => {
    const at = next + c.difference();
    next = at + eventsEach;
    return at;
  });
  const course = { n, moment, time: c.rising(n) };
  for (const gauge of data.gauges) {
    const least = c.sums(n), above = c.column(n);
    course[gauge.name] = { least, most: least.map((l, i) => l + above[i]) };
  }
  return course;
}

/* A text may be the number of an earlier run that has the same. */
function packedText(run, name) {
  return typeof run[name] === 'number' ? data.runs[run[name]][name] : run[name];
}

async function unpackRun(run, trace) {
  const [placed, memory, course] = await Promise.all(['placed', 'memory', 'course'].map(name =>
    columnsOf(packedText(run, name))));
  return { ...run, ...unpackPlaced(placed, trace), memory: unpackMemory(memory),
    course: unpackCourse(course, run.events_each) };
}
