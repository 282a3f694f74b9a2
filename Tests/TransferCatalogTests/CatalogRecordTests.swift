import Testing
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog

@Suite struct CatalogRecordTests {
    private func decoded(_ bytes: some Sequence<UInt8>) -> [CatalogEntry] {
        Array(bytes).withUnsafeBytes { CatalogRecord.decode($0) }
    }

    private static let entries: [CatalogEntry] = {
        let bare = CatalogEntry(id: .random(), state: .alreadyStored, path: "", size: 0, begun: .min, committed: .max)
        var long = CatalogEntry.sample(7)
        long.digest = Digest(.sha256Tree, Array(0..<32))
        long.path = String(repeating: "ü", count: 2000)
        long.state = .alreadyStored
        long.isDurable = false
        return [.sample(1), bare, long, .sample(2), .sample(5)]
    }()

    @Test func isReadAsItWasWritten() {
        #expect(decoded(CatalogRecord.encode(Self.entries)) == Self.entries)
        #expect(CatalogRecord.encode([]).isEmpty)
        #expect(decoded([]).isEmpty)
    }

    /// Wherever the bytes are cut, the entries before the cut are read.
    @Test func isCutAnywhere() {
        let entries = [CatalogEntry.sample(1), .sample(2)]
        let bytes = CatalogRecord.encode(entries)
        let first = CatalogRecord.encode([entries[0]]).count
        for count in bytes.indices {
            let whole = count < first ? 0 : 1
            #expect(decoded(bytes.prefix(count)) == Array(entries.prefix(whole)), "\(count) bytes")
        }
    }

    @Test func neverTrapsOnDamage() {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SplitMix64(seed: seed)
        let bytes = CatalogRecord.encode(Self.entries)
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                damaged[Int.random(in: bytes.indices, using: &generator)] = UInt8(truncatingIfNeeded: generator.next())
            }
            #expect(decoded(damaged).count <= bytes.count / 84, "seed \(seed)")
        }
        for count in 0..<300 { #expect(decoded(generator.bytes(count)).count <= 3, "seed \(seed)") }
    }
}
