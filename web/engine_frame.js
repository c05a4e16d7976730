/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Runs the program in a frame that may do nothing but compute: no address, no storage, no connection. Browsers give
 * such a frame a process of its own, so the page stays alive while it works. Removing the frame ends the work.
 *
 * From the page, with a port: { code, file, words }. To the page: { progress }, then { done } or { failed }. What the
 * words write to /answer comes back as bytes.
 */
const LINE_MAX = 1 << 16;                    /* bytes of standard error that are kept of a line */
const NEWLINE = 10, RETURN = 13, PERCENT = 37, SLASH = 47;
const WORK = '/work', ANSWER = '/answer';    /* where the recording lies, and what is to come back */

/* The bytes of a file, as large as a browser lets an array be. */
async function contents(file) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (refused) {
    throw new Error(`${file.name} cannot be read (${refused.message}). A page gets memory for files of about 2 GiB; ` +
                    'the program itself reads any size.');
  }
}

/* Hears standard error. Lines that a carriage return takes back are progress; the rest is what the program says. */
function listener(tell) {
  let line = [], said = '';
  const shown = () => new TextDecoder().decode(new Uint8Array(line)).replace('\x1b[K', '');
  return {
    hear(byte) {
      if (byte === RETURN || byte === NEWLINE) {
        if (byte === NEWLINE)
          said += shown() + '\n';
        line = [];
      } else if (line.length < LINE_MAX) {
        line.push(byte);
        if (byte === PERCENT || byte === SLASH) {
          const text = shown();
          if (/: +\d+ (%|MiB, \d+ MiB\/)$/.test(text))
            tell(text.replace(/, \d+ MiB\/$/, ''));
        }
      }
    },
    said: () => said + shown(),
  };
}

/* Starts the program anew; its memory goes with it. */
async function run({ code, file, words }, port) {
  const told = listener(progress => port.postMessage({ progress }));
  const out = [];
  let status = 0;
  const engine = await loadEngine({
    wasmBinary: code,
    stdin: () => null,
    stdout: byte => byte === null || out.push(byte),
    hear: told.hear,
    onExit: code => { status = code; },
  });
  engine.FS.mkdir(WORK);
  engine.FS.chdir(WORK);
  if (file)
    engine.FS.writeFile(file.name, await contents(file), { canOwn: true });
  try {
    engine.callMain(words);
  } catch (stopped) {
    if (stopped.name !== 'ExitStatus')
      throw stopped;
  }
  let written = null;
  if (engine.FS.analyzePath(ANSWER).exists) {
    engine.FS.chmod(ANSWER, 0o400);          /* there is no umask here, so the program may have left no rights */
    written = engine.FS.readFile(ANSWER);
  }
  return { status, printed: new TextDecoder().decode(new Uint8Array(out)), said: told.said(), written };
}

addEventListener('message', async event => {
  const port = event.ports[0];
  try {
    port.postMessage({ done: await run(event.data, port) });
  } catch (failure) {
    port.postMessage({ failed: failure.message || String(failure) });
  }
}, { once: true });
