# Kafka's files on disk: verify, read, query, repair.
class Kafkaspec < Formula
  include Language::Python::Virtualenv

  desc "Executable specification of Apache Kafka's on-disk format"
  homepage "https://pypi.org/project/kafkaspec/"
  # What a release has to fill in: the address and the hash of its sdist. `brew
  # update-python-resources kafkaspec` adds the resources.
  url "https://pypi.org/packages/source/k/kafkaspec/kafkaspec-0.2.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "rust" => :build # cramjam, fastcrc
  depends_on "libdeflate"
  depends_on "lz4"
  depends_on "python@3.13"
  depends_on "snappy"
  depends_on "zstd"

  # click, rich, kaitaistruct, fastcrc, lz4, zstandard, cramjam, xxhash, javaproperties, isal

  def install
    ENV["KAFKASPEC_NATIVE"] = "required"
    virtualenv_install_with_resources
  end

  test do
    (testpath/"empty-0").mkpath
    (testpath/"empty-0/00000000000000000000.log").write ""
    assert_match "codec native", shell_output("#{bin}/kafkaspec --version")
    assert_match "clean: 1 file checked", shell_output("#{bin}/kafkaspec verify #{testpath}/empty-0")
  end
end
