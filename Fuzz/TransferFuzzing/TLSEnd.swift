import TransferIO
import TransferSystem

/// One end of a TLS conversation in memory, as a socket uses it.
final class TLSEnd {
    /// Replaces the kernel's buffers of a socket.
    private final class Wire {
        var incoming: ArraySlice<UInt8> = []
        var outgoing: [UInt8] = []
        var hasEnded = false
        /// The largest number of bytes that are received or sent at once.
        let most: Int

        init(most: Int) {
            self.most = most
        }

        func receive(into target: UnsafeMutableRawBufferPointer) -> Int? {
            let bytes = incoming.prefix(min(most, target.count))
            incoming = incoming.dropFirst(bytes.count)
            target.copyBytes(from: bytes)
            return bytes.isEmpty && !hasEnded ? nil : bytes.count
        }

        /// Holds at most `most` bytes until they are collected. Returns nil if there is no room for more.
        func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
            guard outgoing.count < most else { return nil }
            let piece = bytes.prefix(most - outgoing.count)
            outgoing += piece
            return piece.count
        }
    }

    private let wire: Wire
    private let layer: TLSLayer
    private var unsent: ArraySlice<UInt8>
    private var hasSaidEnd = false

    /// The decrypted bytes of the other side.
    private(set) var received: [UInt8] = []

    /// Whether the other side has ended its direction.
    private(set) var isClosed = false

    /// Nil as long as there was no error.
    private(set) var error: StreamError?

    /// Whether this side ends its direction when all bytes are sent.
    var endsWhenDone = true

    func say(_ bytes: [UInt8]) {
        unsent += bytes
    }

    var isEstablished: Bool { layer.isEstablished }

    /// - Parameters:
    ///   - content: bytes to send after the handshake, before the end.
    ///   - most: the largest number of bytes that the wire accepts or gives at once.
    init(_ context: TLSContext, content: [UInt8], most: Int, judge: TLSJudge? = nil) throws(TLSFault) {
        let wire = Wire(most: most)
        self.wire = wire
        unsent = content[...]
        layer = TLSLayer(
            try TLSSession(context, judge: judge), CiphertextBuffers(),
            TLSLayer.Wire(receive: { wire.receive(into: $0) }, send: { wire.send($0) }))
    }

    /// Takes the bytes for the other side from the wire.
    func collect() -> [UInt8] {
        defer { wire.outgoing = [] }
        return wire.outgoing
    }

    func deliver(_ bytes: [UInt8]) {
        wire.incoming += bytes
    }

    /// No more bytes arrive over the wire.
    func cut() {
        wire.hasEnded = true
    }

    /// Continues as far as possible, and ends its direction when all bytes are sent, if `endsWhenDone` is set.
    func run() {
        guard error == nil else { return }
        do throws(StreamError) {
            guard try layer.handshake() else { return }
            try layer.flush()
            while !unsent.isEmpty, let count = try layer.send(unsent) { unsent = unsent.dropFirst(count) }
            if endsWhenDone, unsent.isEmpty, !layer.hasUnsent, !hasSaidEnd {
                hasSaidEnd = true
                layer.close()
            }
            while try receive() {}
        } catch {
            self.error = error
        }
    }

    /// - Returns: whether bytes were received.
    private func receive() throws(StreamError) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 12)
        var span = buffer.mutableSpan
        let result = try span.withUnsafeMutableBytes { (room) throws(StreamError) in try layer.receive(into: room) }
        switch result {
        case .bytes(let count): received += buffer[..<count]
        case .end: isClosed = true
        case .wouldBlock: return false
        }
        return !isClosed
    }
}

extension TLSLayer {
    /// - Returns: number of bytes that were taken, or nil while earlier ones wait.
    fileprivate func send(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> Int? {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StreamError) in try send(bytes) }
    }
}
