# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The wheel, installed into a bare environment with nothing else, works there and leaves nothing when it is removed."""
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

# A program that uses CUDA through its runtime, without PyTorch.
CUDA_PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcudart.so.12")
at = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(3 << 20)) == 0
assert cuda.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 40)) == 2
assert cuda.cudaFree(at) == 0
"""


class Bare:
    """An environment of its own; `say` runs a program of it without what this process has in its own."""

    def __init__(self, folder, wheel):
        self.folder, self.elsewhere = folder / "env", folder / "elsewhere"
        self.elsewhere.mkdir()
        base = pathlib.Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
        subprocess.run([base, "-m", "venv", self.folder], check=True)
        self.before = self.listing()
        self.say("python", "-m", "pip", "install", "-q", "--no-index", "--no-compile", str(wheel))

    def run(self, name, *words):
        done = subprocess.run([self.folder / "bin" / name, *words], cwd=self.elsewhere, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.elsewhere)})
        assert done.returncode == 0, done.stderr + done.stdout
        return done

    def say(self, name, *words):
        return self.run(name, *words).stdout

    def listing(self):
        return {str(path) for path in self.folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def bare(tmp_path_factory, request):
    return Bare(tmp_path_factory.mktemp("bare"), request.config.getoption("--wheel"))


def version_of_source(root):
    return re.search(r"project\(replay VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]


@pytest.mark.parametrize("command", [["replay"], ["vramreplay"], ["python", "-m", "vramreplay"]])
def test_console_scripts_and_module_start_the_program(bare, command, root):
    assert bare.say(*command, "--version").splitlines()[0] == f"replay {version_of_source(root)}"


def test_the_version_is_the_one_of_the_source(bare, root):
    said = bare.say("python", "-c", "import vramreplay; print(vramreplay.__version__)")
    assert said.strip() == version_of_source(root)


def test_it_needs_nothing_but_the_standard_library(bare, sample):
    code = ("import sys, vramreplay; a = vramreplay.why(sys.argv[1]); print(a.verdict);"
            "print(sorted({m.split('.')[0] for m in sys.modules} - sys.stdlib_module_names - {'vramreplay'}))")
    verdict, others = bare.say("python", "-c", code, sample("oom-fragmented")).splitlines()
    assert verdict == "fragmented"
    assert [name for name in eval(others) if not name.startswith(("_", "sitecustomize", "usercustomize"))] == []


def test_run_sim_finds_its_libraries_and_records(bare, tmp_path):
    (tmp_path / "program.py").write_text(CUDA_PROGRAM)
    bare.say("replay", "run-sim", "--device", "24GiB", "--record", str(tmp_path / "t.zst"), "--", "python3",
             str(tmp_path / "program.py"))
    code = "import sys, vramreplay; i = vramreplay.info(sys.argv[1]); print(i.peak_requested_bytes, i.trace.refusals)"
    assert bare.say("python", "-c", code, str(tmp_path / "t.zst")).split() == [str(3 << 20), "1"]


def test_record_finds_its_library(bare):
    said = bare.run("replay", "record", "-o", "t.zst", "--", "true").stderr
    assert said == "replay record: no calls for CUDA memory were recorded, so there is no trace\n"


def test_the_live_allocator_loads_and_has_what_pytorch_asks_for(bare):
    code = ("import ctypes, vramreplay.files as f; a = ctypes.CDLL(str(f.live_allocator()));"
            "print(all(hasattr(a, name) for name in ('replay_alloc', 'replay_free')), f.manual_page().is_file())")
    assert bare.say("python", "-c", code).split() == ["True", "True"]


def test_only_glibc_comes_from_the_system(bare):
    listing = subprocess.run(["ldd", *bare.folder.glob("lib/python*/site-packages/vramreplay/program/bin/replay")],
                             capture_output=True, text=True, check=True).stdout
    outside = {name for name, path in re.findall(r"(\S+) => (/\S+)", listing) if str(bare.folder) not in path}
    glibc = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}         # in several libraries until 2.33
    assert outside <= glibc | {"libz.so.1"}


def test_each_library_inside_has_its_notice(wheel):
    with zipfile.ZipFile(wheel) as package:
        names = package.namelist()
        libraries = [n for n in names if n.startswith("vramreplay.libs/") and ".so" in n]
        notices = {pathlib.Path(n).name for n in names if ".dist-info/licenses/" in n}
        metadata = package.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert [re.sub("-[0-9a-f]{8}[.]", ".", n) for n in libraries] == ["vramreplay.libs/libelf.so.1"]
    assert notices == {"LICENSE", "GPL-3.txt", "LGPL-3.txt", "libelf1.txt", "libjansson4.txt", "libjs-dygraphs.txt",
                       "liblz4-1.txt", "libmd0.txt", "libprotobuf-c1.txt", "libsqlite3-0.txt", "libzstd1.txt"}
    assert re.search(r"^License-Expression: (.*)$", metadata, re.M)[1] == (
        "BSD-3-Clause AND BSD-2-Clause AND LGPL-3.0-or-later AND MIT AND blessing")
    assert set(re.findall(r"^License-File: (.*)$", metadata, re.M)) == notices


def test_no_notice_is_in_it_twice(wheel):
    with zipfile.ZipFile(wheel) as package:
        assert [n for n in package.namelist() if n.rsplit("/", 1)[-1] in ("copyright", "LICENSE")] == [
            n for n in package.namelist() if n.endswith(".dist-info/licenses/LICENSE")]


def test_what_is_inside_is_listed_for_scanners(wheel):
    with zipfile.ZipFile(wheel) as package:
        names = package.namelist()
        listed = json.loads(package.read(next(n for n in names if n.endswith(".dist-info/sboms/debian.cdx.json"))))
    parts = {part["name"]: part["purl"] for part in listed["components"]}
    assert {f"{name}.txt" for name in parts} == {
        pathlib.Path(n).name for n in names if ".dist-info/licenses/lib" in n}
    assert re.fullmatch(r"pkg:deb/debian/elfutils@[0-9.-]+\?arch=source", parts["libelf1"])


def test_the_wheel_is_for_every_glibc_from_2_28_on(wheel):
    tags = re.findall(r"manylinux_2_(\d+)_", wheel.name)
    assert tags and all(int(minor) <= 28 for minor in tags)


def test_the_source_distribution_holds_the_tree(wheel, root):
    with tarfile.open(wheel.with_name(f"vramreplay-{version_of_source(root)}.tar.gz")) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"CMakeLists.txt", "pyproject.toml", "PKG-INFO", "replay/program/main.c", "samples/cnn.trace.zst",
            "tests/data/packed/training.tar.xz", "python/vramreplay/py.typed"} <= names


def test_removal_leaves_nothing(tmp_path, wheel):
    there = Bare(tmp_path, wheel)
    assert there.listing() > there.before
    there.say("python", "-m", "pip", "uninstall", "-q", "-y", "vramreplay")
    assert there.listing() == there.before
