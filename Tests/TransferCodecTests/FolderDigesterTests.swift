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
        let names = (0..<50).map { "f\($0)" }
        let forth = digest { for name in names { $0.add(file: name, size: 1, modified: time) } }
        let back = digest { for name in names.reversed() { $0.add(file: name, size: 1, modified: time) } }
        #expect(forth == back && forth.count == 50 && forth.bytes.count == FolderDigest.size)
        #expect(digest { for name in names.dropLast() { $0.add(file: name, size: 1, modified: time) } } != forth)
    }

    /// By docs/reference/protocol.md, the digest of one item is its XXH128, and the digests of several are added.
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

@Suite struct UploadListDigesterTests {
    private let id = UploadID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)

    /// The digest has the layout in docs/reference/protocol.md.
    @Test func whatItIsMadeOf() {
        let digester = UploadListDigester()
        digester.add(id, "a")
        digester.add(id, "bc")
        let bytes: [UInt8] = Array(1...16) + [0, 1, 0x61] + Array(1...16) + [0, 2, 0x62, 0x63]
        let expected = bytes.withUnsafeBytes { BlockHasher.digest(.sha256, $0) }.prefix(FolderDigest.size)
        #expect(digester.count == 2)
        #expect(digester.finish() == FolderDigest(count: 2, bytes: Array(expected)))
        #expect(digester.count == 0)
    }

    /// Another name, another order, and another border between two names change the digest.
    @Test func everythingCounts() {
        func digest(_ items: [(UploadID, String)]) -> [UInt8] {
            let digester = UploadListDigester()
            for (id, name) in items { digester.add(id, name) }
            return digester.finish().bytes
        }
        let other = UploadID(high: 1, low: 2)
        let all = [
            digest([]), digest([(id, "a")]), digest([(id, "b")]), digest([(other, "a")]),
            digest([(id, "a"), (other, "b")]),
            digest([(id, "b"), (other, "a")]), digest([(other, "b"), (id, "a")]),
        ]
        #expect(Set(all).count == all.count)
    }
}
