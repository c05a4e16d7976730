# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What JAX's own allocator holds, written beside the journals: dryrun/run/jax_held.c reads it.

Device.memory_stats() is asked, once a second and at the program's end. It is public, and costs nothing.
"""
import atexit
import os
import sys
import threading
import time


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


def install(jax):
    folder = os.environ.get("REPLAY_CUDASIM_JOURNAL")
    if not folder:
        return
    watch = _Watch(jax, folder)
    atexit.register(watch.look_safely)
    threading.Thread(target=watch.follow, name="replay", daemon=True).start()
