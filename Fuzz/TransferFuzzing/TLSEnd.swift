import TransferIO
import TransferSystem

/// One end of a TLS conversation in memory, as a socket has it.
final class TLSEnd {
    /// What would be the kernel's.
    private final class Wire {
        var incoming: ArraySlice<UInt8> = []
        var outgoing: [UInt8] = []
        var hasEnded = false
        /// Bytes that are received and sent at once.
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

        /// Takes nothing while as much as it takes at once waits to be collected.
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

    /// What the other side has said, decrypted.
    private(set) var received: [UInt8] = []

    /// Whether the other side said that no more comes.
    private(set) var isClosed = false

    /// Nothing while all is well.
    private(set) var error: StreamError?

    /// Whether it says that no more comes once all is said.
    var endsWhenDone = true

    /// Has more to say.
    func say(_ bytes: [UInt8]) {
        unsent += bytes
    }

    var isEstablished: Bool { layer.isEstablished }

    /// - Parameters:
    ///   - content: what is said once the handshake is done, before the end.
    ///   - most: bytes that the wire takes and gives at once.
    init(_ context: TLSContext, content: [UInt8], most: Int, judge: TLSJudge? = nil) throws(TLSFault) {
        let wire = Wire(most: most)
        self.wire = wire
        unsent = content[...]
        layer = TLSLayer(
            try TLSSession(context, judge: judge), CiphertextBuffers(),
            TLSLayer.Wire(receive: { wire.receive(into: $0) }, send: { wire.send($0) }))
    }

    /// Takes what the wire has for the other side.
    func collect() -> [UInt8] {
        defer { wire.outgoing = [] }
        return wire.outgoing
    }

    func deliver(_ bytes: [UInt8]) {
        wire.incoming += bytes
    }

    /// Nothing more comes over the wire.
    func cut() {
        wire.hasEnded = true
    }

    /// Goes on as far as it can, and says that no more comes once all is said, unless it is to stay.
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

    /// - Returns: whether something came.
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
    /// - Returns: how many bytes were taken, or nothing while earlier ones wait.
    fileprivate func send(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> Int? {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StreamError) in try send(bytes) }
    }
}
