import CLinux
import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Answers of the server about interrupted uploads.
    @Suite(.overEachStoreIfAsked) struct ResumeTests {
        /// Content of four blocks, the last one shorter.
        private static let content = SplitMix64.bytes(seed: 1, 3 * Limits.blockSize + 12_345)

        private static func range(_ blocks: Range<Int>) -> Range<Int> {
            blocks.lowerBound * Limits.blockSize..<min(content.count, blocks.upperBound * Limits.blockSize)
        }

        @Test func nothingIsThereOfANewUpload() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.found(PartedUpload("big", Self.content)).isEmpty)
                try server.checkServes()
            }
        }

        @Test(arguments: [DigestFunction.xxh128, .sha256])
        func partsOfTheSameServer(_ function: DigestFunction) async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content, function)
                let first = try server.greetedClient()
                #expect(
                    try first.codes(2, to: upload.part(Self.range(3..<4)) + upload.part(Self.range(0..<2)))
                        == [.staged, .staged])
                let second = try server.greetedClient()
                #expect(try second.found(upload) == [0: upload.blocks[0], 1: upload.blocks[1], 3: upload.blocks[3]])
                #expect(
                    try second.codes(2, to: upload.part(Self.range(2..<3)) + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
                #expect(server.parts.isEmpty)
            }
        }

        /// The next server knows only the file. The digest of a block shows that it is damaged.
        @Test(.directoryOnly) func partsOfAnEarlierServer() async throws {
            let directory = try TemporaryDirectory()
            let upload = PartedUpload("big", Self.content)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                let frames = upload.part(Self.range(0..<2)) + upload.part(Self.range(3..<4))
                #expect(try client.codes(2, to: frames) == [.staged, .staged])
            }
            let part = directory.path("store/.transfer/incoming/\(upload.id).part")
            try Self.damage(part, at: Limits.blockSize + 7)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                let found = try client.found(upload)
                #expect(found[0] == upload.blocks[0] && found[3] == upload.blocks[3])
                #expect(found[1] != upload.blocks[1])
                // With missing and damaged blocks the upload is not complete.
                #expect(try client.codes(to: upload.multipart) == [.incomplete])
                #expect(
                    try client.codes(2, to: upload.part(Self.range(1..<3)) + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
                #expect(server.parts.isEmpty)
            }
        }

        /// The server does not go on reading for a client that it is about to disconnect.
        @Test func theAnswerEndsWithTheServer() async throws {
            let directory = try TemporaryDirectory()
            let upload = PartedUpload("big", Self.content)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
            }
            try await serving(in: directory) { server in
                let (client, pool) = (try server.greetedClient(), server.server.core.transport.pool)
                let (gate, hasStopped) = (Gate(), Flag())
                defer { gate.open() }
                for _ in 0..<pool.limit { pool.submit { gate.pass() } }
                try server.waitUntil("no thread is free") { gate.waiting == pool.limit }
                client.send(upload.question)
                try server.waitUntil("the question waits for one") { pool.isContended }
                Task {
                    await server.server.stopConnections()
                    await server.server.visitLoops()
                    hasStopped.set()
                }
                try server.waitUntil("the connection is told to end") { hasStopped.isSet }
                gate.open()
                while case .message(let message) = try client.next() {
                    if case .have = message { Issue.record("the file was read") }
                }
                #expect(server.parts == ["\(upload.id).part"], "for the next server")
            }
        }

        /// A client that compares no digests cannot make the server acknowledge damaged blocks.
        @Test(.directoryOnly) func aDamagedBlockIsNotAcknowledged() async throws {
            let directory = try TemporaryDirectory()
            let upload = PartedUpload("big", Self.content)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
            }
            try Self.damage(directory.path("store/.transfer/incoming/\(upload.id).part"), at: 5)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.found(upload).count == 4)
                #expect(try client.codes(to: upload.multipart) == [.digestMismatch])
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
            }
        }

        /// A connection that is lost in the middle of a part leaves the whole blocks that it has sent.
        @Test func wholeBlocksOfAPartThatWasCut() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(Array(upload.inOnePart[..<(2 * Limits.blockSize + 100_000)]))
                client.endSending()
                try client.waitForClose()
                let next = try server.greetedClient()
                #expect(try next.found(upload) == [0: upload.blocks[0], 1: upload.blocks[1]])
            }
        }

        @Test(.oneServer) func theNewestConnectionTakesOverAtOnce() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let older = try server.greetedClient()
                let newer = try server.greetedClient()
                older.send(Array(upload.inOnePart[..<100_000]))
                _ = try newer.found(upload)
                #expect(try newer.codes(to: upload.inOnePart) == [.staged])
                #expect(try older.codes(to: Array(upload.inOnePart[100_000...])) == [.incomplete])
                #expect(try newer.codes(to: upload.multipart) == [.committed])
                #expect(server.content("big") == Self.content)
            }
        }

        @Test func whatIsOverGetsItsResult() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(try client.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
                #expect(try client.codes(to: upload.question) == [.committed])
                #expect(try client.codes(to: PartedUpload("../big", Self.content).question) == [.invalidPath])
                #expect(server.parts.isEmpty)
            }
        }

        /// A server may have died after it had published the content and before it recorded that. Or a client asks that
        /// knows only path, size and digest.
        @Test(arguments: ["big", "big-1"]) func whatIsStoredUnderTheNameIsNoProof(_ name: String) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                if name != "big" { #expect(try client.codes(to: Frames.upload("big", [1])) == [.committed]) }
                let earlier = PartedUpload("big", Self.content)
                #expect(try client.codes(2, to: earlier.inOnePart + earlier.multipart) == [.staged, .committed])
                let upload = PartedUpload("big", Self.content)
                #expect(try client.codes(to: upload.multipart) == [.incomplete])
                #expect(try client.found(upload).isEmpty)
                #expect(try client.codes(to: upload.multipart) == [.incomplete])
                // A client that sends the content learns that it was already stored.
                client.send(upload.inOnePart + upload.multipart)
                #expect(try client.result().code == .staged)
                let result = try client.result()
                #expect(result.code == .alreadyStored && result.isDurable)
                #expect(result.storedPath == (name == "big" ? nil : name))
                #expect(server.parts.isEmpty)
                #expect(try client.codes(to: upload.question) == [.alreadyStored])
            }
        }

        @Test func aSizeThatIsKnownAtTheEndOnly() async throws {
            try await serving { server in
                let upload = PartedUpload("stream", Self.content)
                let client = try server.greetedClient()
                for block in 0..<4 {
                    let range = Self.range(block..<block + 1)
                    let part = upload.part(range, total: block < 3 ? nil : Self.content.count)
                    #expect(try client.codes(to: part) == [.staged])
                }
                #expect(try client.codes(to: upload.multipart) == [.committed])
                #expect(server.content("stream") == Self.content)
            }
        }

        @Test(.directoryOnly) func oldOnesAreRemovedAtStart() async throws {
            let directory = try TemporaryDirectory()
            let upload = PartedUpload("big", Self.content)
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
            }
            try await serving(in: directory) { #expect($0.parts == ["\(upload.id).part"]) }
            let part = directory.path("store/.transfer/incoming/\(upload.id).part")
            var times = [timeval(tv_sec: time(nil) - 100, tv_usec: 0), timeval(tv_sec: time(nil) - 100, tv_usec: 0)]
            #expect(utimes(part, &times) == 0)
            try await serving({ $0.keepUnfinished = .seconds(200) }, in: directory) { #expect(!$0.parts.isEmpty) }
            try await serving({ $0.keepUnfinished = .seconds(50) }, in: directory) { server in
                #expect(server.parts.isEmpty)
                let client = try server.greetedClient()
                #expect(try client.found(upload).isEmpty)
            }
        }

        private static func damage(_ path: String, at offset: Int) throws {
            let number = open(path, O_RDWR)
            defer { close(number) }
            var byte: UInt8 = 0
            guard pread(number, &byte, 1, offset) == 1 else { throw RawClient.Failure(description: "no \(path)") }
            byte ^= 1
            #expect(pwrite(number, &byte, 1, offset) == 1)
        }
    }
}

extension RawClient {
    /// Asks which blocks of an upload the server has.
    func found(_ upload: PartedUpload) throws -> [UInt64: Digest] {
        send(upload.question)
        var found: [UInt64: Digest] = [:]
        while true {
            switch try answer() {
            case .have(let have) where have.id == upload.id:
                for (number, digest) in have.digests.enumerated() { found[have.first + UInt64(number)] = digest }
            case .accept(upload.id): return found
            case let other: throw Failure(description: "\(other) instead of have or accept")
            }
        }
    }
}
