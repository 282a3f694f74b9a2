import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// A claim decides which connection may write which bytes of an upload in parts.
@Suite struct MultipartClaimTests {
    private static let block = UInt64(Limits.blockSize)

    private let claimed: ClaimedMultipart
    private var store: FileStore { claimed.store }
    private var multipart: MultipartUpload { claimed.multipart }

    init() throws { claimed = try ClaimedMultipart(total: 2 * Self.block) }

    private func claim(_ range: Range<UInt64>, connection: Int) throws(Failure) -> PartClaim {
        try claimed.claim(range, connection: connection)
    }

    private static func digests(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: 16 * count) }

    @Test func anOlderConnectionTakesNothingFromANewerOne() throws {
        let newer = try claim(0..<Self.block, connection: 2)
        #expect(throws: Failure.takenOver) { try claim(0..<Self.block, connection: 1) }
        #expect(throws: Failure.takenOver) {
            _ = try multipart.takeOver(connection: 1, run: nil) { () throws(Failure) in
                try store.resume(id: multipart.id, size: nil)
            }
        }
        try newer.complete(digests: Self.digests(1))
        #expect(throws: Failure.takenOver) { try claim(0..<Self.block, connection: 1) }
        try claim(Self.block..<2 * Self.block, connection: 1).complete(digests: Self.digests(1))
        #expect(multipart.verified == 2 * Self.block)
    }

    /// The bytes after the last whole block have no digest.
    @Test func ofAPartThatIsCutOnlyWholeBlocksCount() throws {
        let interrupted = try claim(0..<2 * Self.block, connection: 1)
        interrupted.withdraw(digests: Self.digests(1))
        #expect(multipart.verified == Self.block)
        #expect(try multipart.finish(total: 2 * Self.block) == nil)
    }

    @Test func nothingIsAddedToWhatIsPublished() throws {
        try claim(0..<2 * Self.block, connection: 1).complete(digests: Self.digests(2))
        #expect(try multipart.finish(total: 2 * Self.block) != nil)
        #expect(multipart.isFinished)
        #expect(throws: Failure.beingCompleted) { try claim(0..<Self.block, connection: 2) }
        #expect(throws: Failure.beingCompleted) { _ = try multipart.finish(total: 2 * Self.block) }
    }

    /// Bytes that an earlier server received and this one only found do not replace verified bytes.
    @Test func whatWasFoundDoesNotReplaceWhatWasVerified() {
        var parts = VerifiedParts()
        parts.insert(.init(RecordedPart(0..<Self.block, digests: Self.digests(1)), connection: 3))
        let other = [UInt8](repeating: 8, count: 16)
        for start in [0, Self.block] {
            parts.insertIfFree(
                .init(RecordedPart(start..<start + Self.block, digests: other), connection: VerifiedParts.Part.found))
        }
        #expect(parts.digests(total: 2 * Self.block) == Self.digests(1) + other)
        #expect(parts.newestConnection(in: 0..<1) == 3)
    }

    @Test func noPartIsLongerThanItsUpload() {
        let part = UploadPart(of: .random(), offset: Self.block, total: Self.block + 5)
        #expect(part.range(size: 5) == Self.block..<Self.block + 5)
        #expect(part.range(size: 6) == nil && part.range(size: .max) == nil)
        #expect(UploadPart(of: .random(), offset: Self.block, total: nil).range(size: 6) != nil)
    }
}
