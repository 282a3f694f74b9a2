import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Content of an upload in parts that one caller has read, and another one writes to.
@Suite struct SurveyRaceTests {
    private static let block = UInt64(Limits.blockSize)

    /// What an earlier server took of an upload, handed out to be read.
    private struct Unread {
        /// Whole blocks in the file.
        static let count = 4

        let multipart: MultipartUpload
        private var survey: any ContentSurvey
        private let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
            let store = try FileStore(path: directory.path("store"))
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

        /// Reads all blocks, and does something before they are handed in.
        mutating func read(then body: () throws -> Void) throws {
            let blocks = try #require(try survey.step(threads: 1))
            #expect(blocks.count == Self.count)
            try body()
            multipart.add(blocks)
        }

        /// A newer connection begins to write some of the bytes.
        func claim(_ range: Range<UInt64>, connection: Int = 2) throws -> PartClaim {
            try multipart.claim(range, connection: connection, run: nil) { () throws(Failure) in
                throw Failure(.busy, "it is open already")
            }
        }

        /// Blocks that are said to be there.
        var known: [UInt64] {
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

    /// Somebody came, wrote and went while the block was read: its digest is that of bytes which are gone.
    @Test func whatWasOverwrittenMeanwhileDoesNotCount() throws {
        var unread = try Unread()
        try unread.read { [unread] in
            let claim = try unread.claim(Self.block..<Self.block + 20)
            try Self.overwrite(claim)
            claim.withdraw(digests: [])
        }
        #expect(unread.known == [0, 2, 3])
    }

    /// Who has taken the bytes over has ended as well.
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

    /// What he had begun before the question was asked is in what was read.
    @Test func whatWasWrittenBeforeCounts() throws {
        var unread = try Unread()
        try unread.read {}
        let claim = try unread.claim(0..<Self.block)
        claim.withdraw(digests: [])
        #expect(unread.known == [1, 2, 3])
    }

    /// However many there were: what is remembered of them is bounded, and never less than they are.
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
}
