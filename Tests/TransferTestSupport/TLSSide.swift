package import TransferIO

/// One end of a TLS connection in memory. Its output is kept until the test passes it to the other end.
package final class TLSSide {
    package let session: TLSSession
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    package private(set) var isEstablished = false

    package init(_ context: TLSContext, name: String? = nil, judge: TLSJudge? = nil) throws {
        session = try TLSSession(context, name: name, judge: judge)
    }

    deinit {
        input.deallocate()
        output.deallocate()
    }

    /// Continues the handshake, or reads the tickets that follow it.
    ///
    /// - Returns: the bytes to send.
    package func shake(_ received: some Collection<UInt8> = []) throws -> [UInt8] {
        guard !isEstablished else {
            _ = try decrypt(received)
            return []
        }
        return try talk(received) {
            isEstablished = try session.handshake() == .done
        }
    }

    /// - Returns: the bytes to send: the encrypted `bytes`, unless the other side has to complete a message first.
    package func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
        try talk([]) {
            _ = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(TLSFault) in try session.write(bytes) }
        }
    }

    package func close() throws -> [UInt8] {
        try talk([]) { session.close() }
    }

    /// - Returns: the decrypted bytes, and whether the other side has closed the connection.
    package func decrypt(_ received: some Collection<UInt8>) throws -> (bytes: [UInt8], isClosed: Bool) {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 20_000)
        var isClosed = false
        _ = try talk(received) {
            while true {
                var count = 0
                let step = try piece.withUnsafeMutableBytes { try session.read(into: $0, &count) }
                bytes += piece[..<count]
                isClosed = step == .closed
                guard step == .done else { return }
            }
        }
        return (bytes, isClosed)
    }

    /// The bytes that the last call wrote, even if it threw an error.
    package private(set) var written: [UInt8] = []

    private func talk(_ received: some Collection<UInt8>, _ body: () throws -> Void) throws -> [UInt8] {
        input.copyBytes(from: received)
        session.setInput(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[..<received.count]))
        session.setOutput(output)
        defer { written = Array(output[..<session.written]) }
        try body()
        return Array(output[..<session.written])
    }
}
