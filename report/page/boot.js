/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The scripts of the page are deflated, as its data are. This one unpacks them and runs them, the library first. */

/* For a person at the browser's console, for tests, and for the other scripts. */
window.replayPage = {
  /* The bytes under base64 and deflate. */
  async inflated(base64) {
    const packed = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },
};

(async () => {
  try {
    for (const id of ['library', 'code']) {
      const text = new TextDecoder().decode(await window.replayPage.inflated(document.getElementById(id).textContent));
      document.body.append(Object.assign(document.createElement('script'), { textContent: text }));
    }
  } catch (reason) {
    document.getElementById('what').textContent = 'The tables and charts cannot be shown: this browser may be too old ' +
      '(' + reason.message + ').';
  }
})();
