/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The scripts of the page are deflated, as its data are. This one unpacks them and runs them, the library first. */

/* The bytes of a text in base 85 (report/page/packed_columns.c). */
function bytesOfText(text) {
  const bytes = new Uint8Array(Math.ceil(text.length * 4 / 5)), value = new Uint8Array(128);
  let digit = 0;
  for (let letter = 33; letter < 127; letter++)
    if (!'"&\'<>\\`{}'.includes(String.fromCharCode(letter)))
      value[letter] = digit++;
  for (let i = 0, at = 0; i < text.length; i += 5) {
    let group = 0;
    for (let k = i; k < i + 5; k++)
      group = group * 85 + (k < text.length ? value[text.charCodeAt(k)] : 84);
    for (let shift = 24; shift >= 0; shift -= 8)
      bytes[at++] = group >>> shift;
  }
  return bytes.subarray(0, Math.floor(text.length * 4 / 5));
}

/* For a person at the browser's console, for tests, and for the other scripts. */
window.replayPage = {
  /* The bytes under base 85 and deflate. */
  async inflated(text) {
    const stream = new Blob([bytesOfText(text)]).stream().pipeThrough(new DecompressionStream('deflate'));
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
    document.getElementById('what').textContent =
      'The tables and charts cannot be shown: this browser may be too old (' + reason.message + ').';
  }
})();
