import Glibc
import Testing
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Uploads that arrive in parts.
    @Suite struct PartsTests {
        /// Three blocks, the last one not whole.
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
                client.send(upload.assembly)
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.isDurable)
                #expect(result.digest == Frames.digest(Self.content, function))
                #expect(server.content("d/big") == Self.content)
                #expect(server.parts.isEmpty)
            }
        }

        /// As after a lost acknowledgement.
        @Test func theEndAgainGetsTheSameAcknowledgement() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(upload.part(0..<Self.content.count) + upload.assembly)
                #expect(try client.result().code == .staged)
                let first = try client.result()
                #expect(first.code == .committed)
                client.send(upload.assembly)
                #expect(try client.result() == first)
                #expect(server.tree == ["big"])
            }
        }

        @Test func aMissingPart() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(upload.assembly)
                #expect(try client.result().code == .incomplete)
                client.send(upload.part(Self.ranges[0]) + upload.part(Self.ranges[2]) + upload.assembly)
                #expect(try [client.result().code, client.result().code] == [.staged, .staged])
                #expect(try client.result().code == .incomplete)
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                client.send(upload.part(0..<Self.content.count) + upload.assembly)
                #expect(try client.result().code == .staged)
                #expect(try client.result().code == .committed)
                #expect(server.content("big") == Self.content)
            }
        }

        /// What an older connection wrote, or still writes, no longer counts, and it gets nothing back.
        @Test func theNewestConnectionTakesAPartOver() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let older = try server.greetedClient()
                let newer = try server.greetedClient()
                older.send(upload.part(Self.ranges[0]) + upload.part(Self.ranges[2]))
                #expect(try [older.result().code, older.result().code] == [.staged, .staged])
                let frames = upload.part(Self.ranges[1])
                older.send(Array(frames[..<100_000]))
                newer.send(upload.part(Self.ranges[1]) + upload.part(Self.ranges[2]))
                #expect(try [newer.result().code, newer.result().code] == [.staged, .staged])
                older.send(Array(frames[100_000...]) + upload.part(Self.ranges[2]))
                #expect(try [older.result().code, older.result().code] == [.incomplete, .incomplete])
                older.send(upload.assembly)
                #expect(try older.result().code == .committed)
                #expect(server.content("big") == Self.content)
            }
        }

        @Test func aDamagedPartDoesNotCount() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                var damaged = upload.part(Self.ranges[0])
                damaged[damaged.count - 100_000] ^= 1
                client.send(damaged)
                #expect(try client.result().code == .digestMismatch)
                client.send(upload.part(Self.ranges[1]) + upload.part(Self.ranges[2]) + upload.assembly)
                #expect(try [client.result().code, client.result().code] == [.staged, .staged])
                #expect(try client.result().code == .incomplete)
                #expect(server.tree.isEmpty)
            }
        }

        /// Every part is as declared, the whole is not.
        @Test func anotherDigestOfTheWhole() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(upload.part(0..<Self.content.count) + upload.assembly(digestOf: Self.content.reversed()))
                #expect(try client.result().code == .staged)
                #expect(try client.result().code == .digestMismatch)
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                try server.checkServes()
            }
        }

        @Test func partsThatDoNotBelongTogether() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(upload.part(Self.ranges[0]))
                #expect(try client.result().code == .staged)
                let other = PartedUpload("big", Self.content + [1], id: upload.id)
                client.send(other.part(Self.ranges[1]))
                #expect(try client.result().code == .contentMismatch)
                let function = PartedUpload("big", Self.content, .sha256, id: upload.id)
                client.send(function.part(Self.ranges[1]))
                #expect(try client.result().code == .contentMismatch)
            }
        }

        @Test func aTakenNameKeepsBoth() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("big", [1]))
                #expect(try client.result().code == .committed)
                let upload = PartedUpload("big", Self.content)
                client.send(upload.part(0..<Self.content.count) + upload.assembly)
                #expect(try client.result().code == .staged)
                #expect(try client.result().storedPath == "big-1")
                #expect(server.content("big-1") == Self.content)
            }
        }

        @Test func theLimitIsForTheWhole() async throws {
            try await serving({ $0.maximumUpload = UInt64(Self.content.count - 1) }) { server in
                let client = try server.greetedClient()
                client.send(PartedUpload("big", Self.content).part(Self.ranges[0]))
                #expect(try client.result().code == .uploadTooLarge)
                #expect(server.parts.isEmpty)
            }
        }

        /// Parts are given up when nobody has worked on them for a while.
        @Test func desertedPartsAreGivenUp() async throws {
            try await serving({ $0.keepParts = .milliseconds(0) }) { server in
                let upload = PartedUpload("big", Self.content)
                let client = try server.greetedClient()
                client.send(upload.part(Self.ranges[0]))
                #expect(try client.result().code == .staged)
                #expect(server.parts.count == 1)
                client.endSending()
                try client.waitForClose()
                try server.waitUntil("the part is gone") { server.parts.isEmpty }
                let later = try server.greetedClient()
                later.send(upload.assembly)
                #expect(try later.result().code == .incomplete)
            }
        }

        /// Each holds a descriptor, so a connection may have some under way but not any number.
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
