// SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
// A recording, in a tab of the editor: the page that `vramreplay report` writes. Nothing is computed here.
"use strict";
const { execFile } = require("child_process");
const vscode = require("vscode");

function asText(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

// A page without scripts. What a program said of a file may hold anything.
function messagePage(sentence, said) {
    return `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'">` +
        `<p>${asText(sentence)}</p><pre>${asText(said)}</pre>`;
}

function whyNoPage(program, error, said) {
    if (error.code === "ENOENT")
        return messagePage(`There is no program '${program}'. Install it where this editor finds it, or name it in ` +
                           "the setting vramreplay.program:", "pip install vramreplay");
    return messagePage("There is no page of this file:", said || String(error.message));
}

// The page about a file, or a page that says why there is none. `signal` ends the program.
function pageOf(program, path, signal) {
    return new Promise(resolve => {
        execFile(program, ["report", path, "--html", "-"], { maxBuffer: Infinity, signal }, (error, page, said) => {
            // With status 2 there may be a page that leaves something out, and says so.
            resolve(page || !error ? page : whyNoPage(program, error, said));
        });
    });
}

const provider = {
    openCustomDocument(uri) {
        return { uri, dispose() {} };
    },

    async resolveCustomEditor(document, panel) {
        const closed = new AbortController();
        panel.onDidDispose(() => closed.abort());
        panel.webview.options = { enableScripts: true, localResourceRoots: [] };
        panel.webview.html = messagePage("Reading the recording ...", "");
        const program = vscode.workspace.getConfiguration("vramreplay").get("program");
        const page = await pageOf(program, document.uri.fsPath, closed.signal);
        if (!closed.signal.aborted)
            panel.webview.html = page;
    },
};

exports.activate = function activate(context) {
    context.subscriptions.push(vscode.window.registerCustomEditorProvider(
        "vramreplay.report", provider, { webviewOptions: { retainContextWhenHidden: true } }));
};
