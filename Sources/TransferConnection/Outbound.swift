/// Memory that contains whole frames.
package protocol OutboundChunk {
    /// Bytes that the chunk contains.
    var count: Int { get }
    var filled: UnsafeRawBufferPointer { get }
}

/// For a connection that has no chunks to send.
extension Never: OutboundChunk {
    package var count: Int { switch self {} }
    package var filled: UnsafeRawBufferPointer { switch self {} }
}

/// Bytes that wait for the socket to take them.
package struct Outbound<Chunk: OutboundChunk> {
    private enum Piece {
        case bytes([UInt8])
        case chunk(Chunk)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .chunk(let chunk): chunk.count
            }
        }
    }

    /// The most bytes of a combined piece. Short pieces are combined to save system calls; copying longer ones would
    /// cost more than a call.
    private static var mostCopied: Int { 16 << 10 }

    /// Pieces that are sent stay at the front, empty, until there are many, so that the rest is not moved each time.
    private var pieces: [Piece] = []
    private var first = 0
    /// Bytes of the first piece that the socket has taken.
    private var sent = 0

    /// Bytes that wait for the socket.
    package private(set) var count = 0

    /// The number of bytes appended so far, sent ones included.
    package private(set) var appended = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Bytes in memory, including the sent bytes of a piece that is sent in part.
    package var held: Int { pieces.reduce(0) { $0 + $1.count } }

    /// Number of chunks in memory. The memory of a chunk does not depend on how many bytes it contains.
    package var chunks: Int { pieces[first...].count { if case .chunk = $0 { true } else { false } } }

    package mutating func append(_ more: [UInt8]) {
        guard !more.isEmpty else { return }
        count += more.count
        appended += more.count
        guard pieces.count - first > 0, case .bytes(var bytes) = pieces[pieces.count - 1],
            bytes.count + more.count <= Self.mostCopied
        else { return pieces.append(.bytes(more)) }
        // The array must not have two owners while it grows, because it would be copied.
        pieces[pieces.count - 1] = .bytes([])
        bytes.append(contentsOf: more)
        pieces[pieces.count - 1] = .bytes(bytes)
    }

    package mutating func append(_ chunk: Chunk) {
        // A chunk keeps all its memory even if it contains few bytes: many short answers that the peer does not take
        // would need gigabytes. So they are copied.
        guard chunk.count > Self.mostCopied else { return append(Array(chunk.filled)) }
        count += chunk.count
        appended += chunk.count
        pieces.append(.chunk(chunk))
    }

    /// Offers the bytes to `send` until it takes no more.
    ///
    /// - Parameter send: returns how many bytes it took; nil if it takes none now.
    package mutating func drain<E: Error>(_ send: (UnsafeRawBufferPointer) throws(E) -> Int?) throws(E) {
        while first < pieces.count {
            guard let taken = try offer(send) else { return }
            sent += taken
            count -= taken
            guard sent == pieces[first].count else { continue }
            pieces[first] = .bytes([])
            first += 1
            sent = 0
            if first == pieces.count || first >= 64 {
                pieces.removeFirst(first)
                first = 0
            }
        }
    }

    private func offer<E: Error>(_ send: (UnsafeRawBufferPointer) throws(E) -> Int?) throws(E) -> Int? {
        switch pieces[first] {
        case .bytes(let bytes):
            try bytes.span.bytes.withUnsafeBytes { (all) throws(E) in
                try send(UnsafeRawBufferPointer(rebasing: all[sent...]))
            }
        case .chunk(let chunk): try send(UnsafeRawBufferPointer(rebasing: chunk.filled[sent...]))
        }
    }
}
