/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * All of the recording as a strip, with the window that the charts above it show. A drag of the window moves it, a drag
 * beside it chooses another. W, A, S and D do the same by keys (search.js).
 */

const OVERVIEW_LEAST = 8;            /* events that a window holds at least */
const overview = { most: [] };

/* What is live at most in each column of pixels. */
function measureOverview(width) {
  const live = linesHere().pop(), last = scene.trace.n_events;
  overview.most = Float64Array.from({ length: width }, (_, x) => extremesOfLine(live, last * x / width,
    Math.max(last * x / width + 1, last * (x + 1) / width)).most);
}

function drawOverview(changes) {
  const canvas = byId('overview'), { x, w } = plotArea(), height = canvas.clientHeight, width = Math.round(w);
  canvas.style.marginLeft = x + 'px';
  canvas.style.width = w + 'px';
  if (canvas.width !== width || changes.has('case')) {
    canvas.width = width;
    canvas.height = height;
    measureOverview(width);
  }
  const context = canvas.getContext('2d'), top = overview.most.reduce((a, b) => Math.max(a, b), 1);
  const left = width * view.from / scene.trace.n_events, right = width * view.to / scene.trace.n_events;
  context.clearRect(0, 0, width, height);
  overview.most.forEach((bytes, column) => {
    context.fillStyle = color(column + 1 >= left && column <= right ? 'quiet' : 'rest');
    context.fillRect(column, height - bytes / top * (height - 3), 1, height);
  });
  context.strokeStyle = color('text');
  context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
}

function listenToOverview() {
  const canvas = byId('overview'), momentAt = event => {
    const { left, width } = canvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width)) * scene.trace.n_events;
  };
  let grip = null;                   /* { moment, from, to }: where a drag began; without a window it chooses one */
  canvas.addEventListener('pointerdown', event => {
    const moment = momentAt(event), isInside = moment >= view.from && moment <= view.to;
    const isAll = view.from === 0 && view.to === scene.trace.n_events;
    canvas.setPointerCapture(event.pointerId);
    grip = isInside && !isAll ? { moment, from: view.from, to: view.to } : { moment };
  });
  canvas.addEventListener('pointermove', event => {
    if (!grip)
      return showTip(event, timeTip(clampMoment(momentAt(event))));
    hideTip();
    const moment = momentAt(event), last = scene.trace.n_events, span = grip.to - grip.from;
    const least = Math.min(moment, grip.moment), most = Math.max(moment, grip.moment);
    const from = span > 0 ? Math.min(last - span, Math.max(0, grip.from + moment - grip.moment)) : least;
    show({ from, to: span > 0 ? from + span : Math.min(last, Math.max(most, least + OVERVIEW_LEAST)) });
  });
  canvas.addEventListener('pointerleave', hideTip);
  for (const end of ['pointerup', 'pointercancel'])
    canvas.addEventListener(end, () => { grip = null; });
}
