# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A headless Chromium, driven over its debugging pipe with nothing but Python's own library.

Without a network: in a network namespace of its own where that is allowed, and with no name resolved anywhere.
"""
import base64
import json
import os
import shutil
import subprocess


# The script unpacks its data before it draws. A page that never says so is not waited for without end.
UNTIL_DRAWN = """new Promise(done => {
    const root = document.documentElement, isDrawn = () => root.dataset.state === 'drawn';
    const watch = new MutationObserver(() => isDrawn() && (watch.disconnect(), done()));
    watch.observe(root, { attributes: true });
    setTimeout(done, 60000);
    if (isDrawn())
        done();
})"""


class Browser:
    """One page at a time. `messages` collects what the page's console and its policy say."""

    # What the browser itself answers to needs the key's number too.
    NATIVE_KEYS = {'Tab': {'windowsVirtualKeyCode': 9}, 'ArrowLeft': {'windowsVirtualKeyCode': 37},
                   'ArrowRight': {'windowsVirtualKeyCode': 39}}

    def __init__(self):
        command = ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
                   '--remote-debugging-pipe', '--host-resolver-rules=MAP * ~NOTFOUND', 'about:blank']
        if subprocess.run(['unshare', '-n', 'true'], capture_output=True).returncode == 0:
            command = ['unshare', '-n'] + command
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The browser reads its commands from descriptor 3 and answers on 4.
        launch = 'exec 3<&%d 4>&%d; exec "$@"' % (to_browser, from_browser)
        self.process = subprocess.Popen(['bash', '-c', launch, 'bash'] + command, pass_fds=(to_browser, from_browser),
                                        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.messages, self.requests = b'', 0, None, [], []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network':
            self.call(domain + '.enable')

    @staticmethod
    def is_there():
        return shutil.which('chromium') is not None

    def receive(self):
        while b'\0' not in self.rest:
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise RuntimeError('the browser is gone')
            self.rest += more
        message, self.rest = self.rest.split(b'\0', 1)
        message = json.loads(message)
        if message.get('method') in ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'):
            self.messages.append(message['params'])
        if message.get('method') == 'Network.requestWillBeSent':
            self.requests.append(message['params']['request']['url'])
        return message

    def call(self, method, **params):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            command['sessionId'] = self.session
        os.write(self.write_end, json.dumps(command).encode() + b'\0')
        while True:
            message = self.receive()
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError('%s: %s' % (method, message['error']))
                return message['result']

    def open(self, path, width=1280, height=900, dark=False, fragment='', **features):
        """Loads a file from disk and waits until its script has drawn it. `features`: of media, such as
        forced_colors='active'."""
        self.messages, self.requests = [], []
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        features = dict(features, prefers_color_scheme='dark' if dark else 'light')
        self.call('Emulation.setEmulatedMedia', features=[{'name': name.replace('_', '-'), 'value': value}
                                                          for name, value in features.items()])
        self.call('Page.navigate', url='about:blank')        # a fragment alone would not load the page anew
        self.messages, self.requests = [], []
        address = 'file://' + os.path.abspath(path).replace('%', '%25').replace('#', '%23')
        failure = self.call('Page.navigate', url=address + fragment).get('errorText')
        if failure:
            raise RuntimeError('%s: %s' % (path, failure))
        while self.receive().get('method') != 'Page.loadEventFired':
            pass
        while self.eval('location.protocol') != 'file:':
            pass
        self.eval(UNTIL_DRAWN)

    def eval(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError('%s: %s' % (expression, result['exceptionDetails']))
        return result['result'].get('value')

    def press(self, key):
        for kind in 'keyDown', 'keyUp':
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=key, **self.NATIVE_KEYS.get(key, {}))

    def click(self, x, y):
        """A click of the left button at a place of what is shown."""
        for kind in 'mouseMoved', 'mousePressed', 'mouseReleased':
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y,
                      button='none' if kind == 'mouseMoved' else 'left', clickCount=0 if kind == 'mouseMoved' else 1)

    def screenshot(self, path):
        height = self.eval('document.documentElement.scrollHeight')
        width = self.eval('document.documentElement.clientWidth')
        shot = self.call('Page.captureScreenshot', captureBeyondViewport=True,
                         clip={'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1})
        with open(path, 'wb') as f:
            f.write(base64.b64decode(shot['data']))

    def close(self):
        self.session = None
        try:
            self.call('Browser.close')
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=200)
        os.close(self.write_end)
        os.close(self.read_end)
