import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Uploads that clients send in parts.
    @Suite(.overEachStoreIfAsked) struct PartsTests {
        /// Content of three blocks, the last one shorter.
        private static let content = SplitMix64.bytes(seed: 1, 2 * Limits.blockSize + 12_345)
        private static let ranges = [
            0..<Limits.blockSize, Limits.blockSize..<2 * Limits.blockSize, 2 * Limits.blockSize..<content.count,
        ]

        @Test(arguments: [DigestFunction.xxh128, .sha256])
        func inAnyOrderOverManyConnections(_ function: DigestFunction) async throws {
            try await serving { server in
                let upload = PartedUpload("d/big", Self.content, function)
                for range in Self.ranges.reversed() {
                    let client = try server.greetedClient()
                    client.send(upload.part(range))
                    let result = try client.result()
                    #expect(result.code == .staged)
                    #expect(!result.isDurable)
                    #expect(result.size == UInt64(range.count))
                    client.endSending()
                    try client.waitForClose()
                    #expect(server.tree.isEmpty)
                }
                let client = try server.greetedClient()
                client.send(upload.multipart)
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.isDurable)
                #expect(result.digest == Frames.digest(Self.content, function))
                #expect(server.content("d/big") == Self.content)
                #expect(server.parts.isEmpty)
            }
        }

        /// A client repeats the end after its acknowledgement was lost.
        @Test func theEndAgainGetsTheSameAcknowledgement() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart + upload.multipart) == [.staged])
                let first = try client.result()
                #expect(first.code == .committed)
                client.send(upload.multipart)
                #expect(try client.result() == first)
                #expect(server.tree == ["big"])
            }
        }

        @Test func aMissingPart() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.multipart) == [.incomplete])
                #expect(
                    try client.codes(
                        3, to: upload.part(Self.ranges[0]) + upload.part(Self.ranges[2]) + upload.multipart)
                        == [.staged, .staged, .incomplete])
                #expect(server.tree.isEmpty)
                #expect(
                    try client.codes(2, to: upload.part(Self.ranges[1]) + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
            }
        }

        /// Bytes that an older connection wrote, or still writes, no longer count, and that connection cannot take the
        /// upload back.
        @Test(.oneServer) func theNewestConnectionTakesAPartOver() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let older = try server.greetedClient()
                let newer = try server.greetedClient()
                #expect(
                    try older.codes(2, to: upload.part(Self.ranges[0]) + upload.part(Self.ranges[2])) == [
                        .staged, .staged,
                    ])
                let frames = upload.part(Self.ranges[1])
                older.send(Array(frames[..<100_000]))
                #expect(
                    try newer.codes(2, to: upload.part(Self.ranges[1]) + upload.part(Self.ranges[2])) == [
                        .staged, .staged,
                    ])
                #expect(
                    try older.codes(2, to: Array(frames[100_000...]) + upload.part(Self.ranges[2])) == [
                        .incomplete, .incomplete,
                    ])
                #expect(try older.codes(to: upload.multipart) == [.committed])
                #expect(server.content("big") == Self.content)
            }
        }

        @Test func aDamagedPartDoesNotCount() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                var damaged = upload.part(Self.ranges[0])
                damaged[damaged.count - 100_000] ^= 1
                #expect(try client.codes(to: damaged) == [.digestMismatch])
                #expect(
                    try client.codes(
                        3, to: upload.part(Self.ranges[1]) + upload.part(Self.ranges[2]) + upload.multipart)
                        == [.staged, .staged, .incomplete])
                #expect(server.tree.isEmpty)
            }
        }

        /// Every part has its declared digest, and the whole upload has not.
        @Test func anotherDigestOfTheWhole() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(
                    try client.codes(2, to: upload.inOnePart + upload.multipart(digestOf: Self.content.reversed())) == [
                        .staged, .digestMismatch,
                    ])
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                try server.checkServes()
            }
        }

        @Test func partsThatDoNotBelongTogether() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(Self.ranges[0])) == [.staged])
                let other = PartedUpload("big", Self.content + [1], id: upload.id)
                #expect(try client.codes(to: other.part(Self.ranges[1])) == [.contentMismatch])
                let function = PartedUpload("big", Self.content, .sha256, id: upload.id)
                #expect(try client.codes(to: function.part(Self.ranges[1])) == [.contentMismatch])
            }
        }

        @Test func aTakenNameKeepsBoth() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Frames.upload("big", [1])) == [.committed])
                let upload = PartedUpload("big", Self.content)
                #expect(try client.codes(to: upload.inOnePart + upload.multipart) == [.staged])
                #expect(try client.result().storedPath == "big-1")
                #expect(server.content("big-1") == Self.content)
            }
        }

        @Test func theLimitIsForTheWhole() async throws {
            try await serving({ $0.maximumUpload = UInt64(Self.content.count - 1) }) { server in
                let client = try server.greetedClient()
                #expect(
                    try client.codes(to: PartedUpload("big", Self.content).part(Self.ranges[0])) == [.uploadTooLarge])
                #expect(server.parts.isEmpty)
            }
        }

        /// The end of a stream is not known, but the parts give a lower bound of the size.
        @Test(.directoryOnly) func theLimitIsForAStreamToo() async throws {
            let block = Limits.blockSize
            try await serving({ $0.maximumUpload = UInt64(2 * block) }) { server in
                let upload = PartedUpload("stream", Self.content + [UInt8](repeating: 1, count: block))
                let client = try server.greetedClient()
                for (range, code) in [
                    (0..<block, ResultCode.staged), (block..<2 * block, .staged),
                    (2 * block..<3 * block, .uploadTooLarge),
                ] {
                    #expect(try client.codes(to: upload.part(range, total: nil)) == [code], "\(range)")
                }
                let part = server.directory.path("store/.transfer/incoming/\(upload.id).part")
                #expect(TestServer.read(part)?.count == 2 * block)
                // The last part may end at the limit.
                #expect(try client.codes(to: upload.part(block..<2 * block, total: 2 * block)) == [.staged])
            }
        }

        /// The server forgets parts without a connection after a while, but their file stays.
        @Test func desertedPartsAreForgottenButStay() async throws {
            try await serving({ $0.keepParts = .milliseconds(0) }) { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(Self.ranges[0])) == [.staged])
                client.endSending()
                try client.waitForClose()
                try server.waitUntil("the parts are forgotten") {
                    guard let later = try? server.greetedClient() else { return false }
                    return (try? later.codes(to: upload.multipart)) == [.incomplete]
                }
                #expect(server.parts == ["\(upload.id).part"])
            }
        }

        /// Each upload in parts holds a descriptor, so a connection may have a limited number.
        @Test func tooManyAtOnce() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                var codes: Set<ResultCode> = []
                for _ in 0..<65 {
                    client.send(PartedUpload("big", Self.content).part(Self.ranges[2]))
                    codes.insert(try client.result().code)
                }
                #expect(codes == [.staged, .busy])
            }
        }
    }
}
