// SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
// The editor's part for packaging/vscode, for a test of it:
//
//     node vscode_host.js EXTENSION PROGRAM FILE [BEGUN]
//
// opens a file with the extension, and prints as JSON what the tab shows. The tab is closed when there is a file BEGUN.
"use strict";
const fs = require("fs");
const Module = require("module");
const [, , extension, program, fsPath, begun] = process.argv;

const registered = {};
const editor = {
    window: {
        registerCustomEditorProvider(viewType, provider, options) {
            Object.assign(registered, { viewType, provider, options });
            return {};
        },
    },
    workspace: {
        getConfiguration: section => ({ get: key => ({ "vramreplay.program": program })[`${section}.${key}`] }),
    },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? editor : load(name, ...rest));

async function main() {
    const subscriptions = [], shown = [];
    require(extension).activate({ subscriptions });
    const webview = { set html(page) { shown.push(page); } };
    let close;
    const panel = { webview, onDidDispose: listener => { close = listener; } };
    const document = await registered.provider.openCustomDocument({ fsPath });
    const done = registered.provider.resolveCustomEditor(document, panel);
    const look = begun && setInterval(() => fs.existsSync(begun) && close(), 20);
    await done;
    clearInterval(look);
    console.log(JSON.stringify({ viewType: registered.viewType, options: webview.options, shown,
                                 kept: subscriptions.length }));
}

main();
