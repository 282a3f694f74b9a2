import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

/// One connection that sends without end. The server answers every frame or ends the connection, logs a few lines, uses
/// no more memory, and serves other clients.
@Suite(.ownThreads, .serialized) struct FloodAttackTests {
    private static let count = AttackScale.count(20_000, full: 1_000_000)

    /// - Parameter lines: number of warnings that the log may contain.
    private func flood(
        _ flags: [String] = [], warnings: Int, _ body: (FloodConnection) throws -> Void
    ) throws -> RunningServer {
        let server = try RunningServer(flags)
        #expect(try server.push([photo, "--name", "before.png"]).end == .exited(0))
        let memory = try ServerMemory(of: server)
        let connection = try FloodConnection(to: server.address)
        try body(connection)
        let growth = try memory.growth
        #expect(growth < ServerMemory.allowance, "\(growth >> 20) MiB")
        #expect(try server.push([photo, "--name", "after.png"]).end == .exited(0))
        let lines = server.program.errorText.split(separator: "\n").filter { $0.contains(" warning ") }
        #expect(lines.count <= warnings, "\(lines)")
        print("flood: \(connection.answers) answers, \(growth >> 10) KiB more, \(lines.count) warnings")
        return server
    }

    @Test func pings() throws {
        _ = try flood(warnings: 0) { connection in
            try connection.send(Self.count, window: .max) { FrameBytes.of(.ping(UInt64($0))) }
            try connection.finish()
            #expect(connection.pongs == Self.count)
        }
    }

    /// A client begins and aborts uploads as fast as it is allowed to.
    @Test func begins() throws {
        let server = try flood(warnings: 2) { connection in
            try connection.send(Self.count) { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "a", size: 1 << 40, digest: .xxh128)), .abort)
            }
            try connection.finish()
            #expect(connection.results == [.aborted: Self.count])
        }
        #expect(server.leftovers.isEmpty)
    }

    /// More uploads at a time than a client may have, or one begun inside another.
    @Test(arguments: [true, false]) func beginsAgainstTheRules(areAborted: Bool) throws {
        _ = try flood(warnings: 3) { connection in
            try connection.send(Self.count, window: .max) { _ in
                let begin = FrameBytes.of(.begin(Begin(id: .random(), path: "a", size: 1, digest: .xxh128)))
                return areAborted ? begin + FrameBytes.of(.abort) : begin
            }
            try connection.finish()
            // Whether the server falls behind, so that too many uploads are unacknowledged, depends on the machine.
            if !areAborted { #expect(connection.fault?.code == .unexpectedFrame) }
        }
    }

    @Test func deepPaths() throws {
        let deep = String(repeating: "a/", count: 2000) + "b"
        let long = String(repeating: "a", count: 256)
        _ = try flood(warnings: 2) { connection in
            let count = Self.count / 10
            try connection.send(count) {
                let path = $0.isMultiple(of: 2) ? deep : long
                return FrameBytes.of(.begin(Begin(id: .random(), path: path, size: 0, digest: .xxh128)), .abort)
            }
            try connection.finish()
            #expect(connection.results == [.invalidPath: count])
        }
    }

    /// A mebibyte of zeros in a kilobyte or in eleven bytes, sent repeatedly in one upload until the server refuses it.
    @Test(arguments: [BodyEncoding.zlib, .zstd, .hole]) func bombs(_ encoding: BodyEncoding) throws {
        let bomb = try Self.bomb(Limits.dataBody, encoding)
        let server = try flood(["--max-upload", "64M"], warnings: 1) { connection in
            try connection.send(1) { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "bomb", size: nil, digest: .xxh128)))
            }
            try connection.send(Self.count / 10, window: .max) { _ in bomb }
            try connection.send(1) { _ in FrameBytes.of(.abort) }
            try connection.finish()
            #expect(connection.results == [.uploadTooLarge: 1])
        }
        #expect(server.visibleFiles == ["after.png", "before.png"])
    }

    /// One frame whose decoded body exceeds the maximum size of a frame.
    @Test(arguments: [BodyEncoding.zlib, .zstd]) func bombsAboveTheLimit(_ encoding: BodyEncoding) throws {
        let bomb = try Self.bomb(64 << 20, encoding)
        let count = Self.count / 100
        _ = try flood(warnings: 2) { connection in
            try connection.send(count) { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "bomb", size: nil, digest: .xxh128))) + bomb
                    + FrameBytes.of(.abort)
            }
            try connection.finish()
            #expect(connection.results == [.frameTooLarge: count])
        }
    }

    /// Digests of blocks that the client never sent, and tables that only a server sends.
    @Test func tablesOfDigests() throws {
        let digest = Digest(.xxh128, [UInt8](repeating: 7, count: 16))
        _ = try flood(warnings: 2) { connection in
            try connection.send(1) { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "a", size: 1 << 40, digest: .xxh128)))
            }
            try connection.send(Self.count, window: .max) {
                FrameBytes.of(.block(BlockDigest(index: UInt64($0), digest: digest)))
            }
            try connection.send(1) { _ in FrameBytes.of(.abort) }
            try connection.send(Self.count, window: .max) {
                FrameBytes.of(
                    .have(Have(id: .random(), first: UInt64($0), digests: Array(repeating: digest, count: 64))))
            }
            try connection.finish()
            #expect(connection.results == [.digestMismatch: 1])
            #expect(connection.fault?.code == .unexpectedFrame)
        }
    }

    /// The smallest frame, 7 bytes.
    @Test func emptyFrames() throws {
        let empty = FrameBytes.data([])
        _ = try flood(warnings: 1) { connection in
            try connection.send(1) { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "a", size: nil, digest: .xxh128)))
            }
            try connection.send(10 * Self.count, window: .max) { _ in empty }
            try connection.send(1) { _ in FrameBytes.of(.abort) }
            try connection.finish()
            #expect(connection.results == [.aborted: 1])
        }
    }

    /// Questions about uploads that do not exist, each with a promise of space.
    @Test func questions() throws {
        let count = Self.count / 10
        let server = try flood(warnings: 2) { connection in
            try connection.send(count) { _ in
                FrameBytes.of(
                    .resume(Begin(id: .random(), path: "a", size: 10 << 20, digest: .xxh128, scope: .multipart)))
            }
            try connection.finish()
            #expect(connection.accepts == 64)
            #expect(connection.results == [.busy: count - 64])
        }
        #expect(server.leftovers.isEmpty)
    }

    static func bomb(_ zeros: Int, _ encoding: BodyEncoding) throws -> [UInt8] {
        switch encoding {
        case .zstd: FrameBytes.data(repeated(zeros: zeros), encoding)
        case .hole: Hole(count: zeros).frame
        case .stored, .zlib: FrameBytes.data(try deflated(zeros: zeros), encoding)
        }
    }

    /// A zstd frame without a content size, made of blocks that repeat one byte 131,072 times (RFC 8878, section
    /// 3.1.1.2).
    private static func repeated(zeros count: Int) -> [UInt8] {
        let blocks = count >> 17
        return (1...blocks).reduce(into: [0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3]) { frame, number in
            frame += [number == blocks ? 3 : 2, 0, 0x10, 0]
        }
    }

    static func deflated(zeros count: Int) throws -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: count)
        var stream = [UInt8](repeating: 0, count: 1 << 20)
        let length = zeros.withUnsafeBytes { input in
            stream.withUnsafeMutableBytes { Deflater(level: 9).deflate(input, into: $0) }
        }
        return Array(stream.prefix(try #require(length)))
    }
}

extension Hole {
    fileprivate var frame: [UInt8] {
        var frame: [UInt8] = []
        encode(into: &frame)
        return frame
    }
}
