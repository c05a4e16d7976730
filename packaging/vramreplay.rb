# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# For Homebrew on Linux; packaging/fill.py fills in the version and the checksum.
class Vramreplay < Formula
  desc "Replays recorded GPU allocations through allocator policies"
  homepage "https://pypi.org/project/vramreplay/"
  url "{{source}}"
  sha256 "{{sha256}}"
  license "BSD-3-Clause"

  depends_on "cmake" => :build
  depends_on "esbuild" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "elfutils"
  depends_on "jansson"
  depends_on :linux
  depends_on "lz4"
  depends_on "openssl@3"
  depends_on "protobuf-c"
  depends_on "sqlite"
  depends_on "zlib"
  depends_on "zstd"

  resource "dygraphs" do
    url "https://deb.debian.org/debian/pool/main/d/dygraphs/libjs-dygraphs_2.2.1-1_all.deb"
    sha256 "64ba6b442cac22374f01412bc6b0b6116dcf32bc251ed6c1dc7c5134c9ec2a00"
  end

  def install
    resource("dygraphs").stage buildpath/"dygraphs"
    cd "dygraphs" do
      system "ar", "x", Dir["*.deb"].first
      system "tar", "-xf", Dir["data.tar.*"].first
    end
    shared = buildpath/"dygraphs/usr/share"
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DREPLAY_TESTS=OFF", "-DREPLAY_MPI=OFF",
           "-DDYGRAPHS_DIR=#{shared}/javascript/dygraphs",
           "-DDYGRAPHS_LICENCE=#{shared}/doc/libjs-dygraphs/copyright", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "samples"
  end

  test do
    assert_match "replay #{version}", shell_output("#{bin}/replay --version")
    assert_match "best-fit", shell_output("#{bin}/replay #{pkgshare}/samples/cnn.trace.zst")
  end
end
