import Glibc
import TransferCodec
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// An admitted client that makes the server do work which costs the server more than the client. It discards all
/// answers.
final class HostileClient {
    /// A request that the client repeats.
    enum Order: Int {
        case ends, numberedNames, questions, listings, details, lookups, fetches, bombs, begins, pings
        /// Listings whose answers the client does not read.
        case unread
        /// Uploads in parts that consist of one block each and never end.
        case parts
        /// An upload that stops in the middle of a data frame.
        case halves
        /// Empty uploads to one path.
        case rows

        /// Orders that cost the server more than the client.
        static let costly: [Order] = [
            .ends, .numberedNames, .questions, .listings, .details, .lookups, .fetches, .bombs, .begins, .pings,
        ]

        /// Orders that occupy shared resources of the server.
        static let holding: [Order] = [.unread, .parts, .halves, .rows]
    }

    /// The files that a hostile client uses on the server: a file `long`, a folder `n` of files of one size with
    /// numbered names, and uploads in parts with the content of the long file. Each connection has its own upload,
    /// because the server does not read again an upload that another connection holds.
    struct Ground: Sendable {
        let long: [UInt8]
        let digest: Digest
        let bomb: [UInt8]
        let parts = (0..<4).map { _ in UploadID.random() }

        init(long: [UInt8], bomb: [UInt8]) {
            (self.long, self.bomb) = (long, bomb)
            digest = HostileClient.digest(long)
        }
    }

    private let socket: SecuredSocket
    /// Whether the server has answered since the last request.
    private var wasAnswered = true
    private var hasHalf = false

    var isClosed: Bool { socket.isClosed }

    init(to address: String, _ key: KeyPair) throws {
        socket = try SecuredSocket(to: address, .client(.ed25519(seed: key.secret.bytes)))
        try socket.say(FrameBytes.of(.hello(Hello(agent: "hostile"))))
    }

    /// Sends the order once more, unless the server has not yet read the previous one.
    ///
    /// - Parameter number: number of the connection.
    func go(_ order: Order, _ number: Int, _ round: Int, _ ground: Ground) throws {
        // The client of `unread` reads no answers, and sends its order again as long as the server reads.
        if order == .unread {
            wasAnswered = true
        } else if socket.drop() {
            wasAnswered = true
        }
        guard !isClosed, order != .halves || !hasHalf else { return }
        if socket.isSent, wasAnswered {
            (wasAnswered, hasHalf) = (false, order == .halves)
            try socket.say(Self.frames(order, number, round, ground))
        }
        socket.sendSome()
    }

    /// Sends an upload in parts without its end.
    func send(_ part: UploadID, _ ground: Ground) throws {
        var begin = Begin(id: .random(), path: "part", size: UInt64(ground.long.count), digest: .xxh128)
        begin.scope = .part(.init(of: part, offset: 0, total: begin.size))
        try socket.say(FrameBytes.of(.begin(begin)))
        for start in stride(from: 0, to: ground.long.count, by: 128 << 10) {
            let piece = ground.long[start..<min(start + (128 << 10), ground.long.count)]
            try socket.say(FrameBytes.data(Array(piece)))
            socket.flush()
        }
        try socket.say(FrameBytes.of(.end(End(size: UInt64(ground.long.count), digest: ground.digest))))
        socket.flush()
        while !isClosed {
            guard socket.wait(for: POLLIN) else { throw Program.Failure(description: "the server said nothing") }
            if socket.drop() { break }
        }
    }
}

extension HostileClient {
    private static func frames(_ order: Order, _ number: Int, _ round: Int, _ ground: Ground) -> [UInt8] {
        let size = UInt64(ground.long.count)
        switch order {
        case .ends:
            let begin = Begin(id: .random(), path: "long", size: size, digest: .xxh128, scope: .multipart)
            return FrameBytes.of(.begin(begin), .end(End(size: size, digest: ground.digest)))
        case .numberedNames:
            let content = withUnsafeBytes(of: UInt64(round) &+ 1 << 40) { Array($0) }
            return FrameBytes.of(.begin(Begin(id: .random(), path: "n/a", size: 8, digest: .xxh128)))
                + FrameBytes.data(content) + FrameBytes.of(.end(End(size: 8, digest: digest(content))))
        case .questions:
            let part = ground.parts[number % ground.parts.count]
            let whole = Begin(id: part, path: "part", size: size, digest: .xxh128, scope: .multipart)
            var claim = Begin(id: .random(), path: "part", size: size, digest: .xxh128)
            claim.scope = .part(.init(of: part, offset: 0, total: size))
            return FrameBytes.of(.resume(whole), .begin(claim), .abort)
        case .listings, .details:
            let id = UInt32(truncatingIfNeeded: round)
            return FrameBytes.of(.list(ListRequest(id: id, path: "n", wantsDetails: order == .details)))
        case .lookups: return FrameBytes.of(.lookup(Lookup((0..<256).map { _ in .random() }, digest: .xxh128)))
        case .fetches:
            return (0..<8).flatMap { index in
                FrameBytes.of(
                    .fetch(FetchRequest(id: UInt32(truncatingIfNeeded: round * 8 + index), path: "long", length: 1)))
            }
        case .bombs:
            let frames = FrameBytes.of(.begin(Begin(id: .random(), path: "bomb", size: nil, digest: .xxh128)))
            return frames + (0..<16).flatMap { _ in ground.bomb } + FrameBytes.of(.abort)
        case .begins:
            return (0..<64).flatMap { _ in
                FrameBytes.of(.begin(Begin(id: .random(), path: "a", size: 1 << 30, digest: .xxh128)), .abort)
            }
        case .unread:
            return (0..<64).flatMap { FrameBytes.of(.list(ListRequest(id: UInt32($0), path: "n", wantsDetails: true))) }
        case .parts:
            return (0..<16).flatMap { _ in
                var begin = Begin(id: .random(), path: "held", size: UInt64(block.count), digest: .xxh128)
                begin.scope = .part(.init(of: .random(), offset: 0, total: 1 << 30))
                return FrameBytes.of(.begin(begin)) + FrameBytes.data(block)
                    + FrameBytes.of(.end(End(size: UInt64(block.count), digest: digest(block))))
            }
        case .halves:
            return FrameBytes.of(.begin(Begin(id: .random(), path: "half", size: 1 << 20, digest: .xxh128)))
                + FrameBytes.data(block).dropLast(block.count / 2)
        case .rows:
            return (0..<64).flatMap { _ in
                FrameBytes.of(
                    .begin(
                        Begin(id: .random(), path: "rows-\(number)", size: 0, digest: .xxh128, conflict: .overwrite)),
                    .end(End(size: 0, digest: digest([]))))
            }
        case .pings: return (0..<256).flatMap { FrameBytes.of(.ping(UInt64($0))) }
        }
    }

    /// Content of 4096 bytes, the least that most file systems allocate.
    private static let block = [UInt8](repeating: 7, count: 4096)

    static func digest(_ content: [UInt8]) -> Digest {
        content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
    }
}
