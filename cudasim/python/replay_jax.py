# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What JAX's own allocator holds and is asked for, written beside the journals.

What it holds: Device.memory_stats(), once a second and at the program's end; dryrun/run/jax_held.c reads it. It is
public, and costs nothing. Each request, if a recording is wanted (REPLAY_TORCH_RECORD): XLA's own profile, of the host
alone, which TensorBoard's memory viewer reads. import/import_xplane.c does too.

jax-mixed           versions of JAX's parts, if they are of different releases: then no profile is made
PID.xplane.pb       the profile, when the program has ended in any way but a kill
PID.cut.xplane.pb   the same if the program would have gone on: a signal ended it, it was refused memory, or it began a
                    profile of its own
"""
import atexit
import importlib.metadata
import os
import signal
import sys
import threading
import time

from replay_decisions import calm_answer


class _Watch:
    def __init__(self, jax, folder):
        self.jax, self.path = jax, os.path.join(folder, "jax-held")
        self.said = {}                               # the line of each device that was written last

    def devices(self):
        """JAX's, if the program has begun to use them: asking would begin it."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        is_begun = getattr(bridge, "backends_are_initialized", None)
        if is_begun is None or not is_begun():
            return []
        return [d for d in self.jax.local_devices() if d.platform in ("gpu", "cuda")]

    def look(self):
        for device in self.devices():
            stats = device.memory_stats() or {}
            if "peak_bytes_in_use" not in stats:     # XLA_PYTHON_CLIENT_ALLOCATOR=platform counts nothing
                continue
            pool, limit = stats.get("peak_pool_bytes", stats.get("pool_bytes", 0)), stats.get("bytes_limit", 0)
            line = "%d %d %d %d\n" % (stats["peak_bytes_in_use"], pool, limit, pool > 0 and pool == limit)
            if self.said.get(device.id) != line:
                self.said[device.id] = line
                with open(self.path, "a") as f:
                    f.write(line)

    def look_safely(self):
        try:
            self.look()
            return True
        except Exception:                            # a release that says it otherwise, or a backend at its end
            return False

    def follow(self):
        while self.look_safely():
            time.sleep(1)


class _Requests:
    """XLA's profile of one process. There can be one at a time, and the program's own comes first."""

    def __init__(self, folder):
        self.folder = folder
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.session = None

    def start(self, after):
        profiler = sys.modules["jax._src.profiler"]
        native = getattr(profiler, "_profiler", None) or profiler.xla_client.profiler
        options = profiler.ProfileOptions()
        options.host_tracer_level = 2                # requests are of this level
        for name in "python_tracer_level", "device_tracer_level":
            if hasattr(options, name):               # JAX 0.12 has no level for devices
                setattr(options, name, 0)
        make = native.ProfilerSession
        self.session = make(options)

        def make_another(*args, **kwargs):
            if self.end(is_cut=True):
                print("replay: the program makes a profile of its own: the recording of JAX's requests ends where it "
                      "begins", file=sys.stderr)
            return make(*args, **kwargs)
        native.ProfilerSession = make_another
        atexit.register(self.end_with_program)
        os._exit = after(self.end_with_program, os._exit)
        self.take_signals()

    def end_with_program(self):
        """An error that nobody caught is in sys.last_value when Python ends."""
        error = getattr(sys, "last_value", None)
        self.end(is_cut=isinstance(error, KeyboardInterrupt) or _is_refused(error))

    def end(self, is_cut):
        """Writes the profile; false: there is none."""
        path = os.path.join(self.folder, "%d%s.xplane.pb" % (os.getpid(), ".cut" if is_cut else ""))
        with self.lock:
            session, self.session = self.session, None
            if session is None or self.pid != os.getpid():
                return False
            try:
                profile = session.stop()
                with open(path + ".part", "wb") as f:
                    f.write(profile)
                os.replace(path + ".part", path)
            except Exception as reason:
                _complain(reason)
            return True

    def take_signals(self):
        """Those for which the program has no handler of its own."""
        def on_end(number, _):
            self.end(is_cut=True)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for number in signal.SIGTERM, signal.SIGHUP:
            if threading.current_thread() is threading.main_thread() and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, on_end)


def pass_checks(array):
    """Lets what guards an error hold: `if not is_valid: raise`, `assert jnp.isfinite(x).all()`. What no kernel computed
    is read as zeros, and so as False. True is left: the program may have put it there."""
    read = array.__bool__

    def answer(self):
        value = read(self)
        if value or not any(d.platform in ("gpu", "cuda") for d in self.devices()):
            return value
        frame = sys._getframe(1)
        return calm_answer(frame.f_code.co_filename, frame.f_lineno) is True
    array.__bool__ = answer


def _is_refused(error):
    """Whether it, or what it came of, says that memory was refused."""
    while error is not None and "RESOURCE_EXHAUSTED" not in str(error):
        error = error.__cause__ or error.__context__
    return error is not None


def _version(part):
    try:
        return importlib.metadata.version(part)
    except importlib.metadata.PackageNotFoundError:
        return None


def mixed_releases():
    """"jaxlib 0.10.2, jax-cuda13-pjrt 0.12.0", if JAX's parts are of different releases; else None. JAX itself compares
    its plugin alone. Of the others the layouts differ, and XLA's profiler ends the program."""
    parts = ["jaxlib"] + ["jax-cuda%d-%s" % (cuda, part) for cuda in (12, 13) for part in ("plugin", "pjrt")]
    found = [(part, version) for part in parts for version in [_version(part)] if version]
    releases = {tuple(version.split(".")[:3]) for _, version in found}
    return ", ".join("%s %s" % pair for pair in found) if len(releases) > 1 else None


def say_mixed(folder):
    mixed = mixed_releases()
    if mixed is None:
        return
    with open(os.path.join(folder, "jax-mixed"), "w") as f:
        f.write(mixed)
    print("replay: JAX's parts are of different releases: %s" % mixed, file=sys.stderr, flush=True)


def _complain(reason):
    print("replay: JAX's requests are not recorded: %s: %s" % (type(reason).__name__, reason), file=sys.stderr)


def record(plugin, after):
    """Begins once JAX has loaded its plugin, which has a profiler, and before the plugin has a card. `after`: as
    sitecustomize's."""
    folder = os.environ.get("REPLAY_TORCH_RECORD")
    initialize = getattr(plugin, "initialize", None)
    if not folder or initialize is None or mixed_releases() is not None:
        return

    def initialize_and_record():
        initialize()
        try:
            _Requests(folder).start(after)
        except Exception as reason:                  # a release that says it otherwise
            _complain(reason)
    plugin.initialize = initialize_and_record


def install(jax):
    folder = os.environ.get("REPLAY_CUDASIM_JOURNAL")
    if not folder:
        return
    say_mixed(folder)
    arrays = sys.modules.get("jax._src.array")
    if hasattr(arrays, "ArrayImpl"):
        pass_checks(arrays.ArrayImpl)
    watch = _Watch(jax, folder)
    atexit.register(watch.look_safely)
    threading.Thread(target=watch.follow, name="replay", daemon=True).start()
