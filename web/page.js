/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Asks the program about a file that is dropped here. Nothing is computed on this side: each question is a command. */
'use strict';

const FILE_MAX = 2 ** 31;                    /* browsers give a page no larger array */
const ANSWER = '/answer';                    /* see engine_frame.js */
const SETTINGS_HINT = ['as recorded, and what everybody can set', '', 'or, for example:', 'expandable_segments:True',
                       'garbage_collection_threshold:0.8'];

/* What is asked: the words of the command after the file's name. Only `report` takes settings. */
const QUESTIONS = {
  report: 'Compare settings',
  why: 'Why did it run out of memory?',
  who: 'Who holds the memory?',
  fit: 'Which card is large enough?',
  tune: 'Which setting is best?',
  verify: 'Is the replay exact?',
  info: 'What does the recording hold?',
};
const TAKES_CARD = ['report', 'why', 'fit', 'tune'];

const EXAMPLE = 'oom-fragmented.trace.zst';
const PASTED = 'pasted.log';
const VIEW_MOST = 8000;                      /* letters of what a page within says it shows */

const part = id => document.getElementById(id);
let file = null, frame = null, answer = null;
let isWhyOurs = false;                       /* nobody chose `why`: the last file was a log */
let view = '';                               /* what the page within shows, as it says itself */

/* ---- the engine ---- */

/* The program's code, unpacked once. */
const code = (async () => {
  const bytes = Uint8Array.from(atob(part('engine-wasm').textContent.trim()), letter => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unpacked).arrayBuffer();
})();

/* Runs the program with these words, in a frame of its own (engine_frame.js). Resolves to { status, printed, said,
 * written }; rejects with a sentence. Never settles if it is stopped. */
function run(words, input, tell) {
  return new Promise((resolve, reject) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = ({ data }) => {
      if (data.progress)
        tell(data.progress);
      else
        stop();
      if (data.done)
        resolve(data.done);
      if (data.failed)
        reject(new Error(data.failed));
    };
    stop();
    frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.hidden = true;
    frame.srcdoc = '<script>' + part('engine-glue').textContent + part('engine-frame').textContent + '</' + 'script>';
    frame.onload = async () => {
      const { contentWindow } = frame;
      contentWindow.postMessage({ code: await code, file: input, words }, '*', [channel.port2]);
    };
    document.body.append(frame);
  });
}

/* Ends what runs. */
function stop() {
  frame?.remove();
  frame = null;
}

/* ---- the page ---- */

/* The words of a command about the file. A name that begins with a dash is no option. */
function wordsOf(question) {
  const name = file.name.startsWith('-') ? './' + file.name : file.name;
  const card = part('card').value.trim();
  const settings = part('settings').value.split('\n').map(line => line.trim()).filter(line => line !== '');
  return [
    question, name, ...(TAKES_CARD.includes(question) && card ? ['--device=' + card] : []),
    ...(question === 'report' ? [...settings.map(line => '--policy=' + line), '--html=' + ANSWER] : []),
  ];
}

function say(text) {
  part('status').textContent = text;
}

/* ---- the address: which file, which question, and what is shown of the answer ---- */

function writeAddress() {
  const told = { file: file.name, question: part('question').value, card: part('card').value.trim(),
    settings: part('settings').value.trim(), view };
  const text = new URLSearchParams(Object.entries(told).filter(([, value]) => value !== ''));
  history.replaceState(null, '', '#' + text);
}

/* Nothing is uploaded, so an address holds no file but the example: of others it waits until they are dropped. */
function readAddress() {
  const told = new URLSearchParams(location.hash.slice(1)), name = told.get('file');
  if (name === null)
    return;
  if (Object.hasOwn(QUESTIONS, told.get('question')))
    part('question').value = told.get('question');
  part('question').onchange();
  part('card').value = told.get('card') ?? '';
  part('settings').value = told.get('settings') ?? '';
  view = (told.get('view') ?? '').slice(0, VIEW_MOST);
  if (name === EXAMPLE)
    take(exampleFile());
  else if (name === PASTED)
    say(`This address shows "${QUESTIONS[part('question').value]}" of a text. Paste it here: it is not in the ` +
        'address.');
  else
    say(`This address shows "${QUESTIONS[part('question').value]}" of ${name}. Drop that file here: it is not in the ` +
        'address.');
}

function exampleFile() {
  const bytes = Uint8Array.from(atob(part('example-file').textContent.trim()), letter => letter.charCodeAt(0));
  return new File([bytes], EXAMPLE);
}

/* What the page within is to show, in its head. Only letters that an address has; none ends an attribute. */
function viewElement() {
  return '<meta name="view" content="' + view.replace(/[^\w%=&.!'()*~-]/g, '').replaceAll('&', '&amp;') + '">';
}

/* The page within says what it shows; nobody else is heard. */
function hearPage({ source, data }) {
  if (source !== part('page').contentWindow || typeof data?.view !== 'string' || data.view.length > VIEW_MOST)
    return;
  ({ view } = data);
  writeAddress();
}

/* Says on the button whether it worked: a browser may refuse. */
async function copy(text, button) {
  const before = button.dataset.name ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch (refused) {
    button.textContent = 'Refused by the browser';
  }
  setTimeout(() => { button.textContent = before; }, 2000);
}

/* What there is to press. With an answer the place to drop a file makes room; files may be dropped all the same. */
function setBusy(isBusy, isAnswered = false) {
  part('stop').hidden = !isBusy;
  part('ask').hidden = !file;
  part('ask').disabled = isBusy;
  part('main').classList.toggle('answered', isAnswered);
  part('drop').hidden = isAnswered;
  part('other').hidden = part('link').hidden = !isAnswered;
  part('save').hidden = !isAnswered || !answer;
  part('of').hidden = !file;
  part('of').textContent = file?.name === PASTED ? 'The pasted text' : file?.name ?? '';
}

/* ---- an answer in words, as elements ---- */

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

/* A line to be typed, with a button that copies it. */
function shellLine(line) {
  const button = element('button', 'Copy');
  button.type = 'button';
  button.onclick = () => copy(line, button);
  const made = element('div', '', element('code', line), button);
  made.className = 'paste';
  return made;
}

/* `why` tells in paragraphs and items that are broken for a terminal: a line that is indented goes on with the one
 * before. Lines for a shell stand alone. The first paragraph is the verdict. */
function wordsOfWhy(text) {
  const parts = [];
  let open = null;                           /* what the next line may go on with */
  for (const line of text.split('\n')) {
    const words = line.trim();
    if (words === '') {
      open = null;
    } else if (/^(export|set|setx|\$env:|replay |python )/.test(words) && open === null) {
      parts.push(shellLine(words));
    } else if (/^\s/.test(line) && open !== null) {
      open.append(' ' + words);
    } else {
      const isItem = words.startsWith('- ');
      open = element(isItem ? 'li' : 'p', isItem ? words.slice(2) : words);
      if (isItem && parts.at(-1)?.localName !== 'ul')
        parts.push(element('ul', ''));
      (isItem ? parts.at(-1) : { append: made => parts.push(made) }).append(open);
    }
  }
  const colon = parts[0]?.textContent.indexOf(': ') ?? -1;
  if (colon > 0)
    parts[0].replaceChildren(element('strong', parts[0].textContent.slice(0, colon + 1)),
                             parts[0].textContent.slice(colon + 1));
  parts[0]?.classList.add('verdict');
  return parts;
}

/* Messages of the program without what a shell's user needs of them. */
function messagesOf(said) {
  const lines = said.trim().split('\n').map(line => line.replace(/^replay( \w+)?: /, '').replace(/^left out: /, ''));
  return lines.filter((line, i) => i === 0 || !line.endsWith(': holds no run')).join('\n');
}

function showAnswer(question, done) {
  const isPage = question === 'report' && done.written, isText = !isPage && done.printed !== '';
  answer = isPage ? { name: file.name + '.html', type: 'text/html', bytes: done.written }
    : isText ? { name: `${file.name}.${question}.txt`, type: 'text/plain', bytes: done.printed } : null;
  part('text').hidden = !isText;
  part('text').replaceChildren(...question === 'why' ? wordsOfWhy(done.printed) : [element('pre', done.printed)]);
  part('page').hidden = !isPage;
  if (isPage)
    part('page').srcdoc = new TextDecoder().decode(done.written).replace('<meta ', () => viewElement() + '<meta ');
  say(messagesOf(done.said));
  part('told').classList.toggle('refused', answer === null);
}

function clear() {
  answer = null;
  part('text').hidden = part('page').hidden = true;
  part('told').classList.remove('refused');
  part('page').removeAttribute('srcdoc');
}

async function ask() {
  const question = part('question').value;
  clear();
  if (file.size > FILE_MAX) {
    say(`${file.name} has ${(file.size / 2 ** 30).toFixed(1)} GiB. A page gets memory for files of 2 GiB; the ` +
        'program itself reads any size.');
    part('told').classList.add('refused');
    setBusy(false);
    return;
  }
  setBusy(true);
  say('Working ...');
  writeAddress();
  try {
    showAnswer(question, await run(wordsOf(question), file, say));
  } catch (failure) {
    say(failure.message);
    part('told').classList.add('refused');
  }
  setBusy(false, answer !== null);
  if (answer)
    scrollTo(0, 0);
}

/* A log is asked why; anything else is drawn, unless another question was chosen. */
function take(chosen) {
  if (file || new URLSearchParams(location.hash.slice(1)).get('file') !== chosen.name)
    view = '';                               /* another file, or another answer than the address has */
  file = chosen;
  const isLog = /\.(log|txt|out|err)$/i.test(file.name), question = part('question').value;
  if (isLog ? question === 'report' : isWhyOurs) {
    part('question').value = isLog ? 'why' : 'report';
    part('question').onchange();
    isWhyOurs = isLog;
  }
  ask();
}

function takeText(text) {
  if (text.trim() !== '')
    take(new File([text], PASTED));
}

/* A link that is followed at once; the bytes stay here. */
function save() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([answer.bytes], { type: answer.type }));
  link.download = answer.name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function begin() {
  for (const [name, text] of Object.entries(QUESTIONS))
    part('question').add(new Option(text, name));
  part('settings').placeholder = SETTINGS_HINT.join('\n');
  part('question').onchange = () => { part('settings-label').hidden = part('question').value !== 'report'; };
  part('form').onsubmit = event => { event.preventDefault(); view = ''; ask(); };
  part('example').onclick = () => {
    part('question').value = 'report';
    part('question').onchange();
    take(exampleFile());
  };
  part('link').onclick = () => copy(location.href, part('link'));
  part('question').addEventListener('change', () => {
    isWhyOurs = false;
    if (file)
      part('form').requestSubmit();
  });
  part('other').onclick = () => {
    clear();
    file = null;
    view = part('paste').value = part('file').value = '';
    history.replaceState(null, '', '#');
    say('');
    setBusy(false);
  };
  addEventListener('message', hearPage);
  part('file').onchange = event => event.target.files.length && take(event.target.files[0]);
  part('stop').onclick = () => { stop(); setBusy(false); say('Stopped.'); };
  part('save').onclick = save;
  for (const kind of ['dragenter', 'dragover'])
    addEventListener(kind, event => { event.preventDefault(); part('drop').classList.add('over'); });
  for (const kind of ['dragleave', 'drop'])
    addEventListener(kind, () => part('drop').classList.remove('over'));
  addEventListener('drop', event => {
    event.preventDefault();
    if (event.dataTransfer.files.length)
      take(event.dataTransfer.files[0]);
  });
  addEventListener('paste', event => {
    if (event.target !== part('paste') && /^(INPUT|TEXTAREA)$/.test(event.target.tagName))
      return;
    event.preventDefault();
    part('paste').value = event.clipboardData.getData('text');
    takeText(part('paste').value);
  });
  part('paste').onchange = () => takeText(part('paste').value);
  readAddress();
  document.documentElement.dataset.state = 'drawn';
}

window.replayWeb = { run, ANSWER };          /* for a person at the console and for the tests */
begin();
