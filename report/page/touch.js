/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fingers on a plot. Two zoom it. One that moves sideways slides along it; one that moves up or down scrolls the page,
 * as everywhere.
 */

const SLIDE_LEAST = 8;               /* pixels after which it is known where a finger goes */

/* Where fingers are: their middle, and how far apart two of them are. */
function gripOf(touches) {
  const [a, b = a] = touches;
  return { x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2,
    apart: Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)) };
}

/* `pinch(factor, grip, before)` and `slide(pixels, grip)` say by how much, from move to move; slide may be missing. */
function listenToFingers(host, { pinch, slide }) {
  let first = null, before = null, isSliding = false;
  const begin = event => {
    first = before = event.touches.length > 0 ? gripOf(event.touches) : null;
    isSliding = false;
  };
  for (const type of ['touchstart', 'touchend', 'touchcancel'])
    host.addEventListener(type, begin, { passive: true });
  host.addEventListener('touchmove', event => {
    const now = gripOf(event.touches), along = now.x - first.x;
    if (event.touches.length === 2) {
      event.preventDefault();
      pinch(before.apart / now.apart, now, before);
    } else if (slide && (isSliding ||= Math.abs(along) > SLIDE_LEAST && Math.abs(along) > Math.abs(now.y - first.y))) {
      event.preventDefault();
      slide(now.x - before.x, now);
    }
    before = now;
  }, { passive: false });
}
