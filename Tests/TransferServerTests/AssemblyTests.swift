import Testing
import TransferModel
import TransferProtocol
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Numbers about an upload in parts that do not go together, in orders that no client of ours would send them in.
    @Suite struct AssemblyTests {
        private static let block = UInt64(Limits.blockSize)
        private static let content = SplitMix64.bytes(seed: 61, Limits.blockSize + 5)

        private let upload = PartedUpload("big", content)

        /// A size of zero fits what has no parts, and no part can have it.
        @Test func theEndOfWhatWasOnlyAskedFor() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                client.send(upload.question(size: nil))
                try client.expectAccept()
                #expect(try client.codes(to: upload.emptyEnd) == [.incomplete])
                client.send(upload.question(size: nil))
                try client.expectAccept()
                #expect(try client.codes(2, to: upload.inOnePart + upload.assembly) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
                #expect(server.tree == ["big"] && server.parts.isEmpty)
            }
        }

        /// The file has more than its upload is said to have, and no server that comes later knows why.
        @Test func aTotalBelowWhatIsThere() async throws {
            let directory = try TemporaryDirectory()
            try await serving(in: directory) { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.farBlock) == [.staged])
            }
            for _ in 0..<2 {
                try await serving(in: directory) { [upload] server in
                    let client = try server.greetedClient()
                    #expect(try client.codes(to: upload.begin(0, 5, total: 5) + Frames.encoded(.abort)) == [.aborted])
                    client.send(upload.question(size: nil))
                    try client.expectAccept()
                    client.send(upload.question(size: 5))
                    try client.expectAccept()
                    try server.checkServes()
                }
            }
            // What was there counts for nothing, and is gone in the end.
            try await serving(in: directory) { [upload] server in
                let client = try server.greetedClient()
                let short = PartedUpload("short", Array(Self.content[..<5]), id: upload.id)
                #expect(try client.codes(2, to: short.inOnePart + short.assembly) == [.staged, .committed])
                #expect(server.content("short") == Array(Self.content[..<5]))
                #expect(server.parts.isEmpty)
            }
        }

        /// While it is known what is there, another total is another upload.
        @Test func aTotalBelowWhatHasArrived() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.farBlock) == [.staged])
                #expect(try client.codes(to: upload.begin(0, 5, total: 5)) == [.contentMismatch])
                client.send(Frames.encoded(.abort))
                #expect(try client.codes(to: upload.farBlock) == [.staged])
            }
        }

        @Test func aPartBehindTheEnd() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                let front = 0..<Limits.blockSize
                #expect(try client.codes(to: upload.part(front)) == [.staged])
                #expect(try client.codes(to: upload.farBlock) == [.contentMismatch])
                // Half of it is behind the end.
                #expect(try client.codes(to: upload.block(at: Self.block)) == [.contentMismatch])
                let rest = upload.part(front.upperBound..<Self.content.count)
                #expect(try client.codes(2, to: rest + upload.assembly) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
            }
        }

        /// What is too large leaves nothing: neither in memory nor in the catalog.
        @Test(arguments: [UInt64(Int64.max) + 1, .max - 1] as [UInt64]) func totalsBeyondAnyFile(_ total: UInt64)
            async throws
        {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                let frames = upload.begin(0, Self.block, total: total) + Frames.encoded(.abort)
                #expect(try client.codes(to: frames) == [.uploadTooLarge])
                #expect(try client.codes(to: upload.question(size: total)) == [.uploadTooLarge])
                #expect(try client.codes(2, to: upload.inOnePart + upload.assembly) == [.staged, .committed])
            }
        }

        /// The part was complete, but nobody has said so yet when a newer connection takes the upload over.
        @Test func aLateEndOfAPartThatWasTakenOver() async throws {
            try await serving { [upload] server in
                let (older, newer) = (try server.greetedClient(), try server.greetedClient())
                let part = upload.inOnePart
                let end = Frames.end(Self.content)
                older.send(Array(part.dropLast(end.count)))
                let path = server.directory.path("store/.transfer/incoming/\(upload.id).part")
                try server.waitUntil("the part is written") { TestServer.read(path) == Self.content }
                newer.send(upload.question)
                while case .have = try newer.answer() {}
                #expect(try older.codes(to: end) == [.incomplete])
                #expect(try older.codes(to: upload.assembly) == [.incomplete])
                #expect(try newer.codes(2, to: upload.inOnePart + upload.assembly) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
            }
        }

        // MARK: Read by one, and written by another

        /// What an earlier server took of an upload, handed out to be read.
        private struct Unread {
            /// Whole blocks in the file.
            static let count = 4

            let assembly: Assembly
            private var survey: BlockSurvey
            private let directory: TemporaryDirectory

            init() throws {
                directory = try TemporaryDirectory()
                let store = try FileStore(path: directory.path("store"))
                let id = UploadID.random()
                let content = SplitMix64.bytes(seed: 62, Self.count * Limits.blockSize)
                try content.withUnsafeBytes { bytes in try store.resume(id: id, size: nil).write(bytes, at: 0) }
                assembly = Assembly(id: id, total: UInt64(content.count), function: .xxh128)
                let presence = try assembly.takeOver(connection: 1, run: nil) { () throws(StoreError) in
                    try store.resume(id: id, size: nil)
                }
                guard case .unread(let staged, let total) = presence else {
                    throw RawClient.Failure(description: "nothing has to be read")
                }
                survey = try staged.survey(of: total, .xxh128)
            }

            /// Reads all blocks, and does something before they are handed in.
            mutating func read(then body: () throws -> Void) throws {
                let blocks = try #require(try survey.step(threads: 1))
                #expect(blocks.count == Self.count)
                try body()
                assembly.add(blocks)
            }

            /// A newer connection begins to write some of the bytes.
            func claim(_ range: Range<UInt64>, connection: Int = 2) throws -> PartClaim {
                try assembly.claim(range, connection: connection, run: nil) { () throws(StoreError) in
                    throw StoreError(.busy, "it is open already")
                }
            }

            /// Blocks that are said to be there.
            var known: [UInt64] {
                guard
                    case .known(let parts)? = try? assembly.takeOver(
                        connection: .max, run: nil, stage: { () throws(StoreError) in throw .missingParts })
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
                #expect(throws: StoreError.takenOver) { try Self.overwrite(older) }
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
}

extension PartedUpload {
    fileprivate func question(size: UInt64?) -> [UInt8] {
        Frames.encoded(.resume(Begin(id: id, path: path, size: size, digest: function, scope: .assembly)))
    }

    /// An end without a byte.
    fileprivate var emptyEnd: [UInt8] {
        Frames.encoded(.begin(Begin(id: id, path: path, size: 0, digest: function, scope: .assembly))) + Frames.end([])
    }

    fileprivate func begin(_ offset: UInt64, _ size: UInt64, total: UInt64?) -> [UInt8] {
        let part = Begin.Part(of: id, offset: offset, total: total)
        return Frames.encoded(
            .begin(Begin(id: .random(), path: path, size: size, digest: function, scope: .part(part))))
    }

    /// The first block again, of a stream, at another place.
    fileprivate func block(at offset: UInt64) -> [UInt8] {
        let bytes = Array(content[..<Limits.blockSize])
        return begin(offset, UInt64(bytes.count), total: nil) + Frames.stored(bytes) + Frames.end(bytes, function)
    }

    fileprivate var farBlock: [UInt8] { block(at: 10 * UInt64(Limits.blockSize)) }
}
