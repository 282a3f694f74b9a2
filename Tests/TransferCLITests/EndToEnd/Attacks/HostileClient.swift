import Glibc
import TransferCodec
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// A client that was let in, and has a server do whatever costs more than it pays for. It sends, and throws away what it
/// is answered.
final class HostileClient {
    /// What it orders, over and over.
    enum Order: Int, CaseIterable {
        case ends, numberedNames, questions, listings, details, lookups, fetches, bombs, begins, pings
    }

    /// What it knows of the server: a file `long`, a folder `n` of files of one size with numbered names, and uploads in
    /// parts with the content of the long file, each for one connection at a time: what others hold is not read again.
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

    private let number: Int32
    private let tls: TLSSide
    private var waiting: ArraySlice<UInt8> = []
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)
    private(set) var isClosed = false
    /// Whether the server has answered since it was last asked for something.
    private var wasAnswered = true

    init(to address: String, _ key: KeyPair) throws {
        number = try PeerSocket.connected(to: address)
        var patience = timeval(tv_sec: Program.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        tls = try TLSSide(.client(.ed25519(seed: key.secret.bytes))) { _, _ in true }
        waiting = try tls.shake()[...]
        while !tls.isEstablished {
            try flush()
            let count = recv(number, &scratch, scratch.count, 0)
            guard count > 0 else { throw Program.Failure(description: "the server closed in the handshake") }
            waiting += try tls.shake(scratch[..<count])
        }
        try flush()
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        try say(FrameBytes.of(.hello(Hello(agent: "hostile"))))
    }

    deinit { close(number) }

    /// Orders something once more, unless the server has yet to take what was ordered before.
    ///
    /// - Parameter number: of the connection.
    func go(_ order: Order, _ number: Int, _ round: Int, _ ground: Ground) throws {
        drop()
        guard !isClosed else { return }
        if waiting.isEmpty, wasAnswered {
            wasAnswered = false
            try say(Self.frames(order, number, round, ground))
        }
        sendSome()
    }

    private func say(_ frames: [UInt8]) throws {
        waiting += try tls.encrypt(frames)
        sendSome()
    }

    private func sendSome() {
        let count = waiting.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count > 0 { waiting = waiting.dropFirst(count) }
        if count < 0, errno != EAGAIN { isClosed = true }
        if waiting.isEmpty { waiting = [] }
    }

    private func flush() throws {
        while !waiting.isEmpty, !isClosed { sendSome() }
    }

    /// As it came: there is nothing to be learnt from it.
    private func drop() {
        while true {
            let count = recv(number, &scratch, scratch.count, 0)
            guard count > 0 else {
                if count == 0 || errno != EAGAIN { isClosed = true }
                return
            }
            wasAnswered = true
        }
    }

    /// Brings an upload in parts, but for its end.
    func send(_ part: UploadID, _ ground: Ground) throws {
        var begin = Begin(id: .random(), path: "part", size: UInt64(ground.long.count), digest: .xxh128)
        begin.scope = .part(.init(of: part, offset: 0, total: begin.size))
        try say(FrameBytes.of(.begin(begin)))
        for start in stride(from: 0, to: ground.long.count, by: 128 << 10) {
            let piece = ground.long[start..<min(start + (128 << 10), ground.long.count)]
            try say(FrameBytes.data(Array(piece)))
            try flush()
        }
        try say(FrameBytes.of(.end(End(size: UInt64(ground.long.count), digest: ground.digest))))
        try flush()
        wasAnswered = false
        while !wasAnswered, !isClosed { try wait() }
    }

    private func wait() throws {
        var ready = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, Int32(Program.patience) * 1000) == 1 else {
            throw Program.Failure(description: "the server said nothing")
        }
        drop()
    }
}

extension HostileClient {
    private static func frames(_ order: Order, _ number: Int, _ round: Int, _ ground: Ground) -> [UInt8] {
        let size = UInt64(ground.long.count)
        switch order {
        case .ends:
            let begin = Begin(id: .random(), path: "long", size: size, digest: .xxh128, scope: .assembly)
            return FrameBytes.of(.begin(begin), .end(End(size: size, digest: ground.digest)))
        case .numberedNames:
            let content = withUnsafeBytes(of: UInt64(round) &+ 1 << 40) { Array($0) }
            return FrameBytes.of(.begin(Begin(id: .random(), path: "n/a", size: 8, digest: .xxh128)))
                + FrameBytes.data(content) + FrameBytes.of(.end(End(size: 8, digest: digest(content))))
        case .questions:
            let part = ground.parts[number % ground.parts.count]
            let whole = Begin(id: part, path: "part", size: size, digest: .xxh128, scope: .assembly)
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
        case .pings: return (0..<256).flatMap { FrameBytes.of(.ping(UInt64($0))) }
        }
    }

    static func digest(_ content: [UInt8]) -> Digest {
        content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
    }
}
