/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A few lines at the pointer. What they say is also said elsewhere, for those who have no pointer. */

const TIP_AWAY = 14;                 /* pixels from the pointer */

function showTip(event, lines) {
  const tip = byId('tip');
  tip.replaceChildren(...lines.map((textContent, i) => element(i === 0 ? 'strong' : 'span', { textContent })));
  tip.hidden = lines.length === 0;
  const { offsetWidth: width, offsetHeight: height } = tip, left = event.clientX + TIP_AWAY;
  tip.style.left = Math.max(0, left + width > innerWidth ? event.clientX - TIP_AWAY - width : left) + 'px';
  tip.style.top = Math.max(0, Math.min(innerHeight - height, event.clientY + TIP_AWAY)) + 'px';
}

function hideTip() {
  byId('tip').hidden = true;
}
