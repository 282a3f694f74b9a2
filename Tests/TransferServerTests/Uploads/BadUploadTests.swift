import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

extension ServerTests {
    /// Uploads that fail alone. The result has the reason, no file is visible, and the connection continues.
    @Suite(.overEachStore) struct BadUploadTests {
        private static let content = [UInt8]("hello, world".utf8)
        private static let bomb = Frames.deflated([UInt8](repeating: 0, count: Limits.dataBody + 1))
        private static let corrupt = Frames.deflated(Array(repeating: content, count: 50).flatMap { $0 }).map {
            $0 ^ 0x5A
        }

        private static func zstd(_ body: some Sequence<UInt8>, size: UInt64?) -> [UInt8] {
            Frames.begin("x", size: size) + Frames.data(Array(body), .zstd) + Frames.end(content)
        }

        /// Frames of one upload each, and the code that the result has to have.
        static let badUploads: [FaultyFrames] = [
            FaultyFrames(
                "too many bytes", .sizeMismatch,
                Frames.begin("x", size: 5) + Frames.data(content) + Frames.end(content)),
            FaultyFrames(
                "too few bytes", .sizeMismatch, Frames.begin("x", size: 50) + Frames.data(content) + Frames.end(content)
            ),
            FaultyFrames(
                "another size at the end", .sizeMismatch,
                Frames.begin("x", size: nil) + Frames.data(content)
                    + Frames.encoded(.end(End(size: 3, digest: Frames.digest(content))))),
            FaultyFrames(
                "wrong digest", .digestMismatch,
                Frames.begin("x", size: 12) + Frames.data(content)
                    + Frames.encoded(.end(End(size: 12, digest: Frames.digest([1]))))),
            FaultyFrames(
                "a digest of another function", .digestMismatch,
                Frames.begin("x", size: 12) + Frames.data(content) + Frames.end(content, .sha256)),
            FaultyFrames(
                "a block that was not sent", .digestMismatch,
                Frames.begin("x", size: 12) + Frames.data(content)
                    + Frames.block(0, content) + Frames.end(content)),
            FaultyFrames(
                "an empty zlib body", .corruptCompression,
                Frames.begin("x", size: 12) + Frames.data([], .zlib) + Frames.end(content)),
            FaultyFrames(
                "bytes behind a zlib stream", .corruptCompression,
                Frames.begin("x", size: 12) + Frames.data(Frames.deflated(content) + [0], .zlib) + Frames.end(content)),
            FaultyFrames(
                "content where none was declared", .sizeMismatch,
                Frames.begin("x", size: 0) + Frames.data([1]) + Frames.end([])),
            FaultyFrames("a size that no file has", .uploadTooLarge, Frames.begin("x", size: .max) + Frames.end([])),
            FaultyFrames(
                "corrupt zlib", .corruptCompression,
                Frames.begin("x", size: 600) + Frames.data(corrupt, .zlib) + Frames.end(content)),
            FaultyFrames(
                "truncated zlib", .corruptCompression,
                Frames.begin("x", size: 12) + Frames.data(Frames.deflated(content).dropLast(3), .zlib)
                    + Frames.end(content)),
            FaultyFrames(
                "zlib that inflates past the limit", .frameTooLarge,
                Frames.begin("x", size: nil) + Frames.data(bomb, .zlib) + Frames.end(content)),
            FaultyFrames("an empty zstd body", .corruptCompression, zstd([], size: 12)),
            FaultyFrames("bytes behind a zstd frame", .corruptCompression, zstd(Frames.zstd(content) + [0], size: 12)),
            FaultyFrames(
                "two zstd frames", .corruptCompression, zstd(Frames.zstd(content) + Frames.zstd(content), size: 24)),
            FaultyFrames("truncated zstd", .corruptCompression, zstd(Frames.zstd(content).dropLast(3), size: 12)),
            FaultyFrames(
                "a zlib stream that is said to be zstd", .corruptCompression, zstd(Frames.deflated(content), size: 12)),
            FaultyFrames(
                "a zstd frame that says another size", .corruptCompression,
                zstd(Frames.patched(Frames.zstd(content), 5, 11), size: 12)),
            FaultyFrames(
                "a zstd frame that is skipped", .corruptCompression,
                zstd([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7], size: 12)),
            FaultyFrames(
                "zstd with a dictionary", .corruptCompression,
                zstd(Frames.patched(Frames.zstd(content), 4, 0xa1), size: 12)),
            FaultyFrames("zstd that holds too much", .frameTooLarge, zstd(Frames.zstdBomb(blocks: 9), size: nil)),
            FaultyFrames(
                "zstd that says that it holds too much", .frameTooLarge,
                zstd(Frames.patched(Frames.zstd(content), 8, 1), size: nil)),
            FaultyFrames(
                "zstd with too large a window", .frameTooLarge,
                zstd(Frames.patched(Frames.zstdBomb(blocks: 1), 5, 11 << 3), size: nil)),
            FaultyFrames(
                "taken back", .aborted, Frames.begin("x", size: 12) + Frames.data(content) + Frames.encoded(.abort)),
        ]

        @Test(arguments: badUploads) func endsTheUploadAlone(_ bad: FaultyFrames) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: bad.bytes) == [bad.code])
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                #expect(try client.codes(to: Frames.upload("next", [4, 2])) == [.committed])
                #expect(server.content("next") == [4, 2])
            }
        }

        static let badPaths: [(path: String, code: ResultCode)] = [
            ("../x", .invalidPath), ("/etc/x", .invalidPath), ("a/../../x", .invalidPath), ("a/./b", .invalidPath),
            ("", .invalidPath), (String(repeating: "n", count: 300), .invalidPath), ("a\0b", .invalidPath),
            (Begin.undecodablePath, .invalidPath), (".transfer/x", .invalidPath), ("a//b", .invalidPath),
            ("outside/x", .invalidPath), ("outside/deep/x", .invalidPath), ("file/x", .pathConflict),
        ]

        @Test(.directoryOnly, arguments: [ConflictPolicy.keepBoth, .overwrite])
        func pathsThatLeadNowhere(_ conflict: ConflictPolicy) async throws {
            try await serving { server in
                mkdir(server.directory.path("elsewhere"), 0o755)
                symlink(server.directory.path("elsewhere"), server.directory.path("store/outside"))
                let client = try server.greetedClient()
                #expect(try client.codes(to: Frames.upload("file", [9])) == [.committed])
                for bad in Self.badPaths {
                    client.send(Frames.upload(bad.path, [1, 2, 3], conflict: conflict))
                    let result = try client.result()
                    #expect(result.code == bad.code, "\(bad.path): \(result.message)")
                    #expect(server.tree == ["file", "outside"], "\(bad.path)")
                    #expect(server.parts.isEmpty, "\(bad.path)")
                }
                #expect(rmdir(server.directory.path("elsewhere")) == 0, "something got out")
                try server.checkServes()
            }
        }

        @Test func aPathThatIsNotUTF8IsTheUploadsFault() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                var begin = Array(Frames.begin("abc", size: 1).dropLast(7))
                begin[begin.count - 2] = 0xFF
                begin.appendCheck(from: FrameHeader.shortSize)
                client.send(begin + Frames.data([1]) + Frames.end([1]))
                let result = try client.result()
                #expect(result.code == .invalidPath && result.message == "The path is not UTF-8.")
                #expect(try client.codes(to: Frames.upload("good", [1])) == [.committed])
            }
        }

        /// The size at the end can be wrong although the size at the beginning was right. The message names the size at
        /// the end.
        @Test func aWrongSizeAtTheEndIsNamed() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let end = Frames.encoded(.end(End(size: 3, digest: Frames.digest(Self.content))))
                client.send(Frames.begin("x", size: 12) + Frames.data(Self.content) + end)
                let result = try client.result()
                #expect(result.code == .sizeMismatch)
                #expect(result.message == "The upload has 12 bytes; 3 were declared.")
            }
        }

        @Test func aClientThatVanishesLeavesNothing() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("big", size: 64 << 20, expectsAccept: true))
                try client.expectAccept()
                client.send(Frames.data([UInt8](repeating: 3, count: 1 << 20)))
                client.endSending()
                try client.waitForClose()
                #expect(server.parts.isEmpty)
                #expect(server.tree.isEmpty)
                try server.checkServes()
            }
        }

        /// Both uploads are in one batch, so the digester has begun the second when the first cannot be published.
        @Test func aResultCountsTheBytesOfItsOwnUpload() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Frames.upload("file", [9])) == [.committed])
                client.send(Frames.upload("file/x", [1, 2, 3, 4, 5]) + Frames.upload("y", [1, 2]))
                let results = try [client.result(), client.result()]
                #expect(results.first { $0.code == .pathConflict }?.size == 5)
                #expect(results.first { $0.code == .committed }?.size == 2)
            }
        }

        /// The client goes on sending data of a long upload after its rejection, in frames that span batches.
        @Test(arguments: [BodyEncoding.stored, .zlib, .zstd, .hole])
        func framesOfARejectedUploadAreSkipped(_ encoding: BodyEncoding) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                var random = SplitMix64(seed: 5)
                let content = random.bytes(Limits.dataBody)
                let frame =
                    switch encoding {
                    case .stored: Frames.data(content)
                    case .zlib: Frames.data(Frames.deflated(Array(content.prefix(900_000))), .zlib)
                    case .zstd: Frames.data(Frames.zstd(Array(content.prefix(250_000))), .zstd)
                    case .hole: Frames.data([0, 0x10, 0, 0], .hole)
                    }
                let writer = TestThread {
                    client.send(Frames.begin("x", size: 1_500_000))
                    for _ in 0..<16 { client.send(frame) }
                    client.send(Frames.end(content) + Frames.upload("next", [4, 2]))
                }
                defer { writer.join() }
                let rejected = try client.result()
                #expect(rejected.code == .sizeMismatch)
                #expect(rejected.size <= 1_500_000)
                #expect(try client.result().code == .committed)
                #expect(server.tree == ["next"])
                #expect(server.parts.isEmpty)
            }
        }

        /// The server notices excess bytes at once, before the end.
        @Test func tooManyBytesAreNoticedBeforeTheEnd() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(
                    try client.codes(to: Frames.begin("x", size: 3) + Frames.data([1, 2, 3, 4])) == [.sizeMismatch])
                #expect(try client.codes(to: Frames.encoded(.abort) + Frames.upload("next", [4, 2])) == [.committed])
            }
        }
    }
}
