import Testing
import TransferCodec
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// One caller surveys the content of an upload in parts while another one writes to it.
@Suite struct SurveyRaceTests {
    private static let block = UInt64(Limits.blockSize)

    /// An upload that an earlier server received, with a survey that reads the content.
    private struct Unread {
        /// Number of whole blocks in the file.
        static let count = 4

        let multipart: MultipartUpload
        let store: FileStore
        private var survey: any ContentSurvey
        private let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
            let store = try FileStore(path: directory.path("store"))
            self.store = store
            let id = UploadID.random()
            let content = SplitMix64.bytes(seed: 62, Self.count * Limits.blockSize)
            try content.withUnsafeBytes { bytes in try store.resume(id: id, size: nil).write(bytes, at: 0) }
            multipart = MultipartUpload(id: id, total: UInt64(content.count), function: .xxh128, started: 0)
            let presence = try multipart.takeOver(connection: 1, run: nil) { () throws(Failure) in
                try store.resume(id: id, size: nil)
            }
            guard case .unread(let staged, let total) = presence else {
                throw Failure(.incomplete, "nothing has to be read")
            }
            survey = try staged.survey(of: total, .xxh128)
        }

        /// Reads all blocks, runs `body`, and then adds the blocks to the upload.
        mutating func read(then body: () throws -> Void) throws {
            let blocks = try #require(try survey.step(threads: 1))
            #expect(blocks.count == Self.count)
            try body()
            _ = multipart.add(blocks)
        }

        /// Claims some of the bytes for a newer connection.
        func claim(_ range: Range<UInt64>, connection: Int = 2) throws -> PartClaim {
            try multipart.claim(range, connection: connection, run: nil) { () throws(Failure) in
                throw Failure(.busy, "it is open already")
            }
        }

        /// Whether the next connection has to read the content.
        func isUnread(connection: Int) throws -> Bool {
            let presence = try multipart.takeOver(connection: connection, run: nil) { () throws(Failure) in
                throw .missingParts
            }
            return if case .unread = presence { true } else { false }
        }

        /// Indexes of the blocks that the server reports as received.
        var known: [UInt64] {
            _ = multipart.endReading()
            guard
                case .known(let parts)? = try? multipart.takeOver(
                    connection: .max, run: nil, stage: { () throws(Failure) in throw .missingParts })
            else { return [] }
            var known: [UInt64] = []
            parts.forEachBlock(digestSize: 16) { index, _ in known.append(index) }
            return known
        }
    }

    private static func overwrite(_ claim: PartClaim) throws {
        try [UInt8](repeating: 7, count: 10).withUnsafeBytes { bytes in try claim.write(bytes, at: 0) }
    }

    @Test func whatIsReadCounts() throws {
        var unread = try Unread()
        try unread.read {}
        #expect(unread.known == [0, 1, 2, 3])
    }

    /// A connection writes to a block while the block is read, so the digest belongs to overwritten bytes.
    @Test func whatWasOverwrittenMeanwhileDoesNotCount() throws {
        var unread = try Unread()
        try unread.read { [unread] in
            let claim = try unread.claim(Self.block..<Self.block + 20)
            try Self.overwrite(claim)
            claim.withdraw(digests: [])
        }
        #expect(unread.known == [0, 2, 3])
    }

    /// The connection that took the bytes over has ended as well.
    @Test func alsoWhenItWasTakenOver() throws {
        var unread = try Unread()
        try unread.read { [unread] in
            let older = try unread.claim(0..<2 * Self.block)
            try Self.overwrite(older)
            let newer = try unread.claim(Self.block..<2 * Self.block, connection: 3)
            #expect(throws: Failure.takenOver) { try Self.overwrite(older) }
            newer.withdraw(digests: [])
        }
        #expect(unread.known == [2, 3])
    }

    /// If the claim begins after the survey, the survey did not read bytes written under it.
    @Test func whatWasWrittenBeforeCounts() throws {
        var unread = try Unread()
        try unread.read {}
        let claim = try unread.claim(0..<Self.block)
        claim.withdraw(digests: [])
        #expect(unread.known == [1, 2, 3])
    }

    /// The server remembers a bounded number of overwritten ranges, which always cover all bytes overwritten.
    @Test func whatWasOverwrittenThousandsOfTimes() throws {
        var unread = try Unread()
        try unread.read { [unread] in
            for offset in 0..<UInt64(3_000) {
                let start = (offset % 2) * 2 * Self.block + offset
                try unread.claim(start..<start + 1).withdraw(digests: [])
            }
        }
        #expect(unread.known == [3])
    }

    /// A client that sends a stream no longer has the blocks that it has verified, so the server must find all of them.
    @Test func aConnectionThatIsLostInTheMiddleLeavesTheRestToBeRead() throws {
        var unread = try Unread()
        #expect(try unread.isUnread(connection: 2))
        try unread.read {}
        #expect(unread.multipart.endReading().size == UInt64(Unread.count) * Self.block)
        #expect(try !unread.isUnread(connection: 3))
    }

    /// Another connection of the same push may be faster than the one that asks what is there.
    @Test(arguments: [false, true]) func aPartThatComesBeforeTheQuestionHidesNothing(isComplete: Bool) throws {
        let unread = try Unread()
        let (id, size) = (unread.multipart.id, UInt64(Unread.count) * Self.block)
        let next = MultipartUpload(id: id, total: size, function: .xxh128, started: 0)
        let claim = try next.claim(0..<Self.block, connection: 1, run: nil) { [unread] () throws(Failure) in
            try unread.store.resume(id: id, size: nil)
        }
        let new = [UInt8](repeating: 7, count: Limits.blockSize)
        try new.withUnsafeBytes { try claim.write($0, at: 0) }
        claim.withdraw(digests: isComplete ? new.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) } : [])
        let presence = try next.takeOver(connection: 2, run: nil) { () throws(Failure) in throw .missingParts }
        guard case .unread(let staged, let total) = presence else {
            Issue.record("nothing has to be read")
            return
        }
        var survey = try staged.survey(of: total, .xxh128)
        let blocks = try survey.step(threads: 1)
        // What a lost connection has left of a block does not count, also when it was read after that.
        #expect(next.add(try #require(blocks)).map(\.index) == [1, 2, 3])
        #expect(next.endReading().size == size - (isComplete ? 0 : Self.block))
    }
}
