# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""NVIDIA's driver and its management library through ctypes: what `calls` and `pools` need of them. A call that fails
raises CallFailed."""
import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
OUT_OF_MEMORY = 2


class CallFailed(Exception):
    def __init__(self, name, code):
        super().__init__("%s gave %d" % (name, code))
        self.code = code


class Location(ctypes.Structure):
    _fields_ = [("kind", c_int), ("id", c_int)]


class PoolProps(ctypes.Structure):
    """CUmemPoolProps of CUDA 12.2 and later; the older one has max_bytes among its reserved bytes."""
    _fields_ = [("alloc_type", c_int), ("handle_types", c_int), ("location", Location), ("security", c_void_p),
                ("max_bytes", c_size_t), ("usage", ctypes.c_ushort), ("reserved", ctypes.c_ubyte * 54)]


class AllocationProp(ctypes.Structure):
    """CUmemAllocationProp."""
    _fields_ = [("kind", c_int), ("handle_types", c_int), ("location", Location), ("security", c_void_p),
                ("flags", ctypes.c_ubyte * 8)]


class AccessDesc(ctypes.Structure):
    """CUmemAccessDesc."""
    _fields_ = [("location", Location), ("flags", c_int)]


class MemoryV2(ctypes.Structure):
    """nvmlMemory_v2_t."""
    _fields_ = [("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong),
                ("used", c_ulonglong)]


PINNED, ON_DEVICE, READ_AND_WRITE = 1, 1, 3


class Driver:
    """libcuda.so.1: driver.cuMemAlloc_v2(...) calls it."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            code = function(*arguments)
            if code != 0:
                raise CallFailed(name, code)
        setattr(self, name, call)
        return call

    def open_context(self, ordinal=0):
        """The primary context of a card, for this thread."""
        device, context = c_int(), c_void_p()
        self.cuInit(0)
        self.cuDeviceGet(byref(device), ordinal)
        self.cuDevicePrimaryCtxRetain(byref(context), device)
        self.cuCtxSetCurrent(context)

    def memory(self):
        """Free and all bytes of the card."""
        free, total = c_size_t(), c_size_t()
        self.cuMemGetInfo_v2(byref(free), byref(total))
        return free.value, total.value


class Management:
    """libnvidia-ml.so.1: what the card has in use, by whichever process."""

    def __init__(self, ordinal=0):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = c_void_p()
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(ordinal, byref(self.device)):
            raise CallFailed("nvmlInit_v2", 1)

    def text(self, name):
        answer = ctypes.create_string_buffer(96)
        arguments = [answer, len(answer)] if name.startswith("nvmlSystem") else [self.device, answer, len(answer)]
        code = getattr(self.library, name)(*arguments)
        return answer.value.decode() if code == 0 else "unknown"

    def used_bytes(self):
        memory = MemoryV2(version=ctypes.sizeof(MemoryV2) | 2 << 24)
        code = self.library.nvmlDeviceGetMemoryInfo_v2(self.device, byref(memory))
        if code != 0:
            raise CallFailed("nvmlDeviceGetMemoryInfo_v2", code)
        return memory.used
