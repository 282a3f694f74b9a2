import Testing
import TransferTestSupport

@testable import TransferIO

/// A peer that writes its own records, at the far end of a connection.
actor PeerTalker {
    private let peer: RecordPeer
    private let talker: Talker
    private var heard: [UInt8] = []

    init(_ peer: sending RecordPeer, _ talker: Talker) {
        self.peer = peer
        self.talker = talker
    }

    func shake() async throws {
        try await talker.send(peer.shake())
        while !peer.isEstablished { try await talker.send(peer.shake(try await talker.receiveSome())) }
    }

    /// Sends one record of the given kind.
    func say(_ kind: UInt8, _ content: some Collection<UInt8> & Sendable) async throws {
        try await talker.send(peer.seal(kind, content))
    }

    /// Seals later records with the next keys.
    func renew() {
        peer.renew()
    }

    /// Returns the next `count` bytes that the other side sent.
    func hear(_ count: Int) async throws -> [UInt8] {
        heard += try peer.content()
        while heard.count < count { heard += try peer.content(try await talker.receiveSome()) }
        defer { heard.removeFirst(count) }
        return Array(heard.prefix(count))
    }
}

extension Talker {
    /// Returns the bytes that are received next.
    func receiveSome() async throws -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while let socket {
            switch try piece.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
            case .bytes(let count): return Array(piece[..<count])
            case .wouldBlock: await socket.readable.wait()
            case .end: throw PeerTalkerEnd()
            }
        }
        return []
    }

    /// Result of a single attempt to receive.
    func find() throws -> StreamSocket.Received? {
        var byte: UInt8 = 0
        return try withUnsafeMutableBytes(of: &byte) { try socket?.receive(into: $0) }
    }

    func pauseReading(_ isPaused: Bool) {
        socket?.pauseReading(isPaused)
    }
}

/// The other side closed the connection while the test still expected bytes.
struct PeerTalkerEnd: Error {}
