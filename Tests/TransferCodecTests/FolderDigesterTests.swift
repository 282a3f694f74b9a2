import Testing
import TransferModel

@testable import TransferCodec

@Suite struct FolderDigesterTests {
    private let time = Timestamp(seconds: 5, nanoseconds: 6)

    private func digest(_ body: (inout FolderDigester) -> Void) -> FolderDigest {
        var digester = FolderDigester()
        body(&digester)
        return digester.digest
    }

    @Test func theOrderDoesNotMatter() {
        let ids = (0..<50).map { UploadID(high: $0 &* 0x9E37_79B9_7F4A_7C15, low: $0) }
        let forth = digest { for id in ids { $0.add(id) } }
        let back = digest { for id in ids.reversed() { $0.add(id) } }
        #expect(forth == back && forth.count == 50 && forth.bytes.count == FolderDigest.size)
        #expect(digest { for id in ids.dropLast() { $0.add(id) } } != forth)
    }

    /// As docs/PROTOCOL.md says: one item's digest is its XXH128, and those of several are added.
    @Test func whatItIsMadeOf() {
        let record: [UInt8] =
            [0] + [0, 0, 0, 0, 0, 0, 1, 0] + [0, 0, 0, 0, 0, 0, 0, 5] + [0, 0, 0, 6] + Array("name".utf8)
        let one = record.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        #expect(digest { $0.add(file: "name", size: 256, modified: time) }.bytes == one)
        let other = ([1] + Array("name".utf8)).withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        #expect(digest { $0.add(folder: "name") }.bytes == other)
        var (sum, carry): ([UInt8], UInt16) = ([], 0)
        for (a, b) in zip(one, other).reversed() {
            carry += UInt16(a) + UInt16(b)
            sum.insert(UInt8(truncatingIfNeeded: carry), at: 0)
            carry >>= 8
        }
        let both = digest {
            $0.add(folder: "name")
            $0.add(file: "name", size: 256, modified: time)
        }
        #expect(both.bytes == sum && both.count == 2)
    }

    @Test func everythingOfAFileCounts() {
        let all = [
            digest { $0.add(file: "a", size: 1, modified: time) },
            digest { $0.add(file: "b", size: 1, modified: time) },
            digest { $0.add(file: "a", size: 2, modified: time) },
            digest { $0.add(file: "a", size: 1, modified: Timestamp(seconds: 6, nanoseconds: 6)) },
            digest { $0.add(file: "a", size: 1, modified: Timestamp(seconds: 5, nanoseconds: 7)) },
            digest { $0.add(folder: "a") }, digest { _ in },
        ]
        #expect(Set(all.map(\.bytes)).count == all.count)
    }
}
