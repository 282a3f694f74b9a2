import Testing
import TransferModel

@testable import TransferCodec

@Suite struct ChecksumHasherTests {
    /// Digests of FIPS 180-4, RFC 3720, zlib and xxhsum.
    @Test(arguments: [
        (
            ChecksumAlgorithm.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709"
        ),
        (
            .sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        ),
        (.crc32, "352441c2", "00000000"),
        (.xxh128, "06b05ab6733a618578af5f94892f3950", "99aa06d3014798d86001c324468d497f"),
    ])
    func digestsAreThoseOfOthers(_ algorithm: ChecksumAlgorithm, _ abc: String, _ nothing: String) {
        let hasher = ChecksumHasher(algorithm)
        for byte in "abc".utf8 { [byte].withUnsafeBytes { hasher.update($0) } }
        #expect(String(hexadecimal: hasher.finish()) == abc)
        #expect(String(hexadecimal: ChecksumHasher(algorithm).finish()) == nothing)
        let whole = Array("abc".utf8).withUnsafeBytes { ChecksumHasher.digest(algorithm, $0) }
        #expect(whole.count == algorithm.size && String(hexadecimal: whole) == abc)
    }
}
