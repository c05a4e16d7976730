# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# For nixpkgs, as pkgs/by-name/vr/vramreplay/package.nix; packaging/fill.py fills in the version and the checksum.
{
  lib,
  stdenv,
  fetchurl,
  cmake,
  dpkg,
  esbuild,
  ninja,
  pkg-config,
  elfutils,
  jansson,
  lz4,
  openssl,
  protobufc,
  sqlite,
  zlib,
  zstd,
}:

let
  dygraphs = fetchurl {
    url = "https://deb.debian.org/debian/pool/main/d/dygraphs/libjs-dygraphs_2.2.1-1_all.deb";
    hash = "sha256-ZLprRCysIjdPAUErxrC2EW3PMrwlHtbB3HxRNMnsKgA=";
  };
in
stdenv.mkDerivation (finalAttrs: {
  pname = "vramreplay";
  version = "{{version}}";

  src = fetchurl {
    url = "{{source}}";
    hash = "{{sri}}";
  };

  nativeBuildInputs = [
    cmake
    dpkg
    esbuild
    ninja
    pkg-config
    protobufc
  ];

  buildInputs = [
    elfutils
    jansson
    lz4
    openssl
    protobufc
    sqlite
    zlib
    zstd
  ];

  preConfigure = ''
    dpkg-deb -x ${dygraphs} dygraphs
    cmakeFlagsArray+=(
      "-DDYGRAPHS_DIR=$PWD/dygraphs/usr/share/javascript/dygraphs"
      "-DDYGRAPHS_LICENCE=$PWD/dygraphs/usr/share/doc/libjs-dygraphs/copyright"
    )
  '';

  cmakeFlags = [
    "-DREPLAY_TESTS=OFF"
    "-DREPLAY_MPI=OFF"
  ];

  meta = {
    description = "Replays recorded GPU allocations through allocator policies";
    homepage = "https://pypi.org/project/vramreplay/";
    license = with lib.licenses; [
      bsd3
      mit
    ];
    mainProgram = "replay";
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
  };
})
