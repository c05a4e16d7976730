#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Make libraries to link against in place of glibc's, so that what is linked runs with an older glibc.

    older_glibc.py FOLDER GLIBC VERSION COMPILER     # older_glibc.py build/linux/libc /lib/x86_64-linux-gnu 2.28 cc

glibc keeps every function of its past under the name and version of that time, beside the newest one. The linker takes
the newest. GLIBC is a folder with glibc's libraries; those written into FOLDER name the same functions and variables,
each under its newest version that is no newer than VERSION, and nothing else: whoever calls a function that VERSION
lacks is told so by the linker. They hold no code, and the program never meets them.

What glibc 2.34 put into one library is in several again, as an older one has it. What could not be kept under an old
name is in C here: the start of a program, and the family of stat.

-L FOLDER and the options in FOLDER/options are all that a linker needs.
"""
import pathlib
import re
import shutil
import subprocess
import sys

#: The libraries whose functions 2.32 to 2.34 moved into libc, and which ones.
MOVED = {"libpthread.so.0": r"_*(pthread|sem|thrd|mtx|cnd|tss)_|call_once", "libdl.so.2": r"dl[a-z]",
         "librt.so.1": r"aio_|lio_|mq_|__mq_|shm_|timer_", "libutil.so.1": r"openpty|forkpty|log(in|out|wtmp)",
         "libanl.so.1": r"getaddrinfo_a|gai_"}
KEPT = ["libc.so.6", "libm.so.6"]
CODE = [pathlib.Path(__file__).with_name(name) for name in ("older_start.c", "older_stat.c")]
#: Names that glibc itself uses between its libraries. They moved under their old versions, so these tell nothing.
INTERNAL = re.compile(r"_*pthread_cleanup|__pthread_|__res_|__dn_|ns_name_|__isnanf128")
#: Functions that are left for what was linked long ago, and that older_stat.c calls.
STILL_CALLED = re.compile(r"__[fl]?xstat(at)?$")
SYMBOL = re.compile(r"\s*\d+: \w+\s+(?P<bytes>\w+)\s+(?P<type>\w+)\s+\w+\s+DEFAULT\s+(?!UND)\w+\s+"
                    r"(?P<name>\w+)@(?P<default>@?)GLIBC_(?P<version>[\d.]+)$")


def number(version):
    return tuple(int(part) for part in version.split("."))


def symbols_of(library):
    """By name, all versions of a function or variable: (version, is it the newest, type, bytes)."""
    listing = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True)
    found = {}
    for line in listing.stdout.splitlines():
        if match := SYMBOL.match(line):
            found.setdefault(match["name"], []).append(
                (number(match["version"]), match["default"] != "", match["type"], int(match["bytes"], 0)))
    return found


def home_of(name, versions, library, newest):
    """The library in which a glibc of version `newest` has a function that this one has in `library`."""
    has_moved = library == "libc.so.6" and any(is_newest and version > newest for version, is_newest, *_ in versions)
    homes = [other for other, names in MOVED.items() if re.match(names, name)]
    return homes[0] if has_moved and homes else library


def older_symbols(glibc, newest):
    """{library: {name: (version, type, bytes)}} of a glibc of version `newest`."""
    older = {library: {} for library in [*KEPT, *MOVED]}
    for library in KEPT:
        for name, versions in symbols_of(glibc / library).items():
            known = [(version, *rest) for version, _, *rest in versions if version <= newest]
            is_for_callers = any(is_newest for _, is_newest, *_ in versions) or STILL_CALLED.match(name)
            if known and is_for_callers and not INTERNAL.match(name):
                older[home_of(name, versions, library, newest)][name] = max(known)
    return older


def assembly(symbols):
    """Every symbol as a place without content, of the type and size that the linker looks at."""
    for i, (name, (version, kind, n_bytes)) in enumerate(sorted(symbols.items())):
        is_variable = kind == "OBJECT"
        yield (f'{".data" if is_variable else ".text"}\n.globl s{i}\n'
               f'.type s{i},{"%object" if is_variable else "%function"}\n.size s{i},{n_bytes}\n'
               f'.symver s{i},{name}@@@GLIBC_{".".join(map(str, version))}\ns{i}: .skip {max(n_bytes, 1)}\n')
    yield '.section .note.GNU-stack,"",%progbits\n'


def link(folder, library, symbols, compiler):
    source, versions, made = (folder / (library + end) for end in (".s", ".map", ""))
    source.write_text("".join(assembly(symbols)))
    nodes = sorted({version for version, *_ in symbols.values()})
    versions.write_text("".join(f"GLIBC_{'.'.join(map(str, node))} {{}};\n" for node in nodes))
    subprocess.run([*compiler, "-shared", "-nostdlib", f"-Wl,-soname,{library}", f"-Wl,--version-script={versions}",
                    "-o", made, source], check=True)


def main():
    folder, glibc, newest, *compiler = sys.argv[1:]
    folder, glibc = pathlib.Path(folder).resolve(), pathlib.Path(glibc)
    folder.mkdir(parents=True, exist_ok=True)
    older = older_symbols(glibc, number(newest))
    for library, symbols in older.items():
        link(folder, library, symbols, compiler)
    for source in CODE:
        subprocess.run([*compiler, "-O2", "-fPIC", "-fvisibility=hidden", "-c", source,
                        "-o", folder / source.with_suffix(".o").name], check=True)
    subprocess.run(["ar", "rcs", "libolder_glibc.a", *(source.with_suffix(".o").name for source in CODE)], cwd=folder,
                   check=True)
    linker = next(glibc.glob("ld-linux-*.so.*"))
    static = subprocess.run([*compiler, "-print-file-name=libc_nonshared.a"], check=True, capture_output=True,
                            text=True).stdout.strip()
    for file in (linker, static):
        shutil.copy(file, folder)
    # Files in a linker's script are looked for beside it; an absolute path would be taken to be below a --sysroot.
    (folder / "libc.so").write_text(f"GROUP(libc.so.6 libolder_glibc.a libc_nonshared.a "
                                    f"AS_NEEDED({' '.join(MOVED)} {linker.name}))\n")
    (folder / "libm.so").write_text("INPUT(libm.so.6)\n")
    for library in MOVED:                       # for those who name them
        (folder / library.split(".so")[0]).with_suffix(".so").write_text(f"INPUT({library})\n")
    (folder / "options").write_text(f"-L{folder} -Wl,--wrap=__libc_start_main\n")


if __name__ == "__main__":
    main()
