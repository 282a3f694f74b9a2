import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Holes of sparse files, which are sent and received as a number of bytes.
    @Suite(.directoryOnly) struct HoleUploadTests {
        /// A piece of a file: a hole, or bytes.
        private enum Piece: Sendable {
            case hole(Int)
            case data([UInt8])

            var content: [UInt8] {
                switch self {
                case .hole(let count): [UInt8](repeating: 0, count: count)
                case .data(let bytes): bytes
                }
            }

            /// - Parameter asHoles: whether zeros are sent as holes.
            func frames(asHoles: Bool = true) -> [UInt8] {
                guard case .hole(let count) = self, asHoles else { return Frames.stored(content) }
                return stride(from: 0, to: count, by: Limits.dataBody).reduce(into: []) { frames, start in
                    Hole(count: min(Limits.dataBody, count - start)).encode(into: &frames)
                }
            }
        }

        private static let some = SplitMix64.bytes(seed: 3, 10_000)

        /// Holes in front, at the end, within a page, across blocks, and files that are one hole.
        private static let files: [[Piece]] = [
            [.hole(1 << 20), .data(some)], [.data(some), .hole((5 << 20) + 1)], [.data(some), .hole(100), .data(some)],
            [.data(some), .hole(9 << 20), .data(some), .hole(3 << 20), .data([1])], [.hole(6 << 20)], [.hole(1)],
        ]

        private static func content(_ file: [Piece]) -> [UInt8] { file.flatMap(\.content) }

        private static func data(_ file: [Piece]) -> Int {
            file.reduce(0) { sum, piece in if case .data(let bytes) = piece { sum + bytes.count } else { sum } }
        }

        private static func space(_ server: TestServer, _ path: String) -> Int {
            var status = stat()
            return stat(server.directory.path("store/\(path)"), &status) == 0 ? status.st_blocks * 512 : -1
        }

        private static func upload(_ path: String, _ file: [Piece], filled: UInt64? = nil) -> [UInt8] {
            let content = content(file)
            var begin = Begin(id: .random(), path: path, size: UInt64(content.count))
            begin.filled = filled
            return Frames.encoded(.begin(begin)) + file.flatMap { $0.frames() } + Frames.end(content)
        }

        @Test(arguments: files.indices, [nil, 20_001] as [UInt64?])
        func aHoleStaysAHole(_ index: Int, _ filled: UInt64?) async throws {
            try await serving { server in
                let file = Self.files[index]
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload("a", file, filled: filled)) == [.committed])
                #expect(server.content("a") == Self.content(file))
                // If the client has not announced holes, room was reserved, and the pages at the borders of two holes
                // keep theirs.
                #expect(Self.space(server, "a") <= Self.data(file) + 24 * 4096)
            }
        }

        @Test func theServerSaysThatItTakesThem() async throws {
            try await serving { server in
                let client = try server.client()
                client.send(Frames.hello)
                guard case .message(.welcome(let welcome)) = try client.next() else { return #expect(Bool(false)) }
                #expect(welcome.features.contains(.holes))
            }
        }

        @Test(arguments: [0, UInt32(Limits.dataBody) + 1, .max]) func anotherNumberEndsTheConnection(_ number: UInt32)
            async throws
        {
            try await serving { server in
                let client = try server.greetedClient()
                let body = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
                client.send(Frames.begin("a", size: nil) + Frames.data(body, .hole))
                let result = try client.result()
                #expect(result.id == .none && result.code == .malformedFrame)
                try client.waitForClose()
                #expect(server.tree.isEmpty && server.parts.isEmpty)
                try server.checkServes()
            }
        }

        /// Holes count as the bytes that they stand for.
        @Test func holesCountAsContent() async throws {
            try await serving({ $0.maximumUpload = 8 << 20 }) { server in
                let client = try server.greetedClient()
                let one = Piece.hole(1 << 20).frames()
                #expect(
                    try client.codes(to: Frames.begin("a", size: 5) + one + Frames.end([1])) == [.sizeMismatch])
                let many = (0..<9).flatMap { _ in one }
                #expect(
                    try client.codes(to: Frames.begin("a", size: nil) + many + Frames.end([1])) == [.uploadTooLarge])
                #expect(
                    try client.codes(to: Frames.begin("a", size: nil) + one + Frames.end(Self.some)) == [.sizeMismatch])
                let other = Frames.end([UInt8](repeating: 1, count: 1 << 20))
                #expect(try client.codes(to: Frames.begin("a", size: nil) + one + other) == [.digestMismatch])
                #expect(server.tree.isEmpty)
            }
        }

        /// Other bytes were sent for these blocks first, to an earlier server or over an older connection.
        @Test(arguments: [false, true]) func partsAreOverwrittenByHoles(hasRestarted: Bool) async throws {
            let block = Limits.blockSize
            let directory = try TemporaryDirectory()
            let other = SplitMix64.bytes(seed: 8, 3 * block)
            let content = Array(other[..<block]) + [UInt8](repeating: 0, count: 2 * block)
            let upload = PartedUpload("a", content)
            let wrong = PartedUpload("a", other, id: upload.id)
            if hasRestarted {
                try await serving(in: directory) { server in
                    let client = try server.greetedClient()
                    #expect(try client.codes(to: wrong.inOnePart) == [.staged])
                }
            }
            try await serving(in: directory) { server in
                let first = try server.greetedClient()
                if !hasRestarted { #expect(try first.codes(to: wrong.inOnePart) == [.staged]) }
                let client = try server.greetedClient()
                client.send(upload.question)
                while case .have = try client.answer() {}
                var begin = Begin(id: .random(), path: "a", size: UInt64(2 * block))
                begin.scope = .part(.init(of: upload.id, offset: UInt64(block), total: UInt64(3 * block)))
                let zeros = Piece.hole(2 * block)
                let part = Frames.encoded(.begin(begin)) + zeros.frames() + Frames.end(zeros.content)
                #expect(try client.codes(2, to: part + upload.multipart) == [.staged, .committed])
                #expect(server.content("a") == content)
                #expect(Self.space(server, "a") <= block + 2 * 4096)
            }
        }

        /// A restarted server does not report blocks that are all holes. The client sends them again as a few bytes.
        @Test func whatIsThereOfASparsePartIsGoneOnWith() async throws {
            let block = Limits.blockSize
            let content = SplitMix64.bytes(seed: 8, block) + [UInt8](repeating: 0, count: 2 * block)
            let upload = PartedUpload("a", content)
            let directory = try TemporaryDirectory()
            @Sendable func part(_ piece: Piece, at offset: Int) -> [UInt8] {
                var begin = Begin(id: .random(), path: "a", size: UInt64(piece.content.count))
                begin.scope = .part(.init(of: upload.id, offset: UInt64(offset), total: UInt64(content.count)))
                begin.filled = UInt64(block)
                return Frames.encoded(.begin(begin)) + piece.frames() + Frames.end(piece.content)
            }
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                let frames = part(.hole(2 * block), at: block) + part(.data(Array(content[..<block])), at: 0)
                #expect(try client.codes(2, to: frames) == [.staged, .staged])
                let second = try server.greetedClient()
                #expect(try second.found(upload).count == 3)
            }
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                #expect(try client.found(upload) == [0: upload.blocks[0]])
                #expect(try client.codes(1, to: upload.multipart) == [.incomplete])
                let rest = part(.hole(2 * block), at: block) + upload.multipart
                #expect(try client.codes(2, to: rest) == [.staged, .committed])
                #expect(server.content("a") == content && Self.space(server, "a") <= block + 2 * 4096)
            }
        }

        /// A file that is larger than the disk and occupies little of it.
        @Test func roomIsForWhatIsFilled() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                var begin = Begin(id: .random(), path: "a", size: 15 << 40, expectsAccept: true)
                client.send(.begin(begin))
                #expect(try client.result().code == .insufficientStorage)
                client.send(.abort)
                begin = Begin(id: .random(), path: "a", size: 15 << 40, expectsAccept: true)
                begin.filled = 4096
                client.send(.begin(begin))
                try client.expectAccept()
                client.send(Piece.hole(1 << 20).frames() + Frames.encoded(.abort))
                #expect(try client.result().code == .aborted)
                #expect(server.parts.isEmpty)
            }
        }

        // MARK: Downloads

        /// - Parameter features: features that the client announces.
        private static func client(_ server: TestServer, _ features: Features) throws -> RawClient {
            let client = try server.client()
            client.send(Frames.hello(features: features))
            guard case .message(.welcome) = try client.next() else {
                throw RawClient.Failure(description: "the server did not welcome")
            }
            return client
        }

        @Test(arguments: files.indices, [[], .holes, [.holes, .zlib]] as [Features])
        func aHoleIsSentToWhoTakesIt(_ index: Int, _ features: Features) async throws {
            try await serving { server in
                let file = Self.files[index]
                let content = Self.content(file)
                let client = try Self.client(server, features)
                #expect(try client.codes(to: Self.upload("a", file)) == [.committed])
                let fetched = try client.fetch(FetchRequest(id: 1, path: "a"))
                #expect(fetched.content == content)
                #expect(fetched.end == End(size: UInt64(content.count), digest: Frames.digest(content)))
                let blocks = content.count > Limits.blockSize ? content.count / Limits.blockSize : 0
                #expect(fetched.blocks.count == blocks)
                guard features.contains(.holes) else {
                    return #expect(client.holeBytes == 0 && fetched.file?.filled == nil)
                }
                // Holes within a page are not holes on the disk.
                let zeros = content.count - Self.data(file)
                #expect(client.holeBytes >= zeros - 4 * 4096)
                let space = Self.space(server, "a")
                #expect(fetched.file?.filled == (space < content.count ? UInt64(space) : nil))
                guard content.count > 2 * Limits.blockSize, let version = fetched.file?.version else { return }
                let range = Limits.blockSize..<2 * Limits.blockSize
                let part = FetchRequest(
                    id: 2, path: "a", offset: UInt64(range.lowerBound), version: version, length: UInt64(range.count))
                #expect(try client.fetch(part).content == Array(content[range]))
            }
        }

        @Test(arguments: files.indices) func aCopyKeepsThem(_ index: Int) async throws {
            try await serving { server in
                let file = Self.files[index]
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload("a", file)) == [.committed])
                client.ask(.make(MakeRequest(.copy, path: "b", target: Array("a".utf8))))
                #expect(try client.outcome().code == .completed)
                #expect(server.content("b") == Self.content(file))
                #expect(Self.space(server, "b") <= Self.data(file) + 12 * 4096)
            }
        }
    }
}
