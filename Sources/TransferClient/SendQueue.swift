import TransferIO
import TransferSystem

/// What waits for the socket: chunks of content, and frames of control that go between them.
struct SendQueue {
    private var chunks: [OutgoingChunk] = []
    private var control: [UInt8] = []
    /// Bytes of the first chunk that the kernel has; 0 means that the stream is between frames.
    private var sent = 0

    var chunkCount: Int { chunks.count }
    var isEmpty: Bool { chunks.isEmpty && control.isEmpty }

    mutating func append(_ chunk: OutgoingChunk) {
        chunks.append(chunk)
    }

    mutating func append(control frames: [UInt8]) {
        control.append(contentsOf: frames)
    }

    /// Sends until the kernel takes no more.
    ///
    /// - Returns: whether it took anything.
    mutating func drain(into socket: StreamSocket) throws(SystemError) -> Bool {
        var hasSent = false
        while !isEmpty {
            // A chunk that has begun must end before anything else: frames are not interleaved.
            let taken = sent == 0 && !control.isEmpty ? try sendControl(socket) : try sendChunk(socket)
            guard taken else { break }
            hasSent = true
        }
        return hasSent
    }

    private mutating func sendControl(_ socket: StreamSocket) throws(SystemError) -> Bool {
        let count = try control.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in try socket.send(bytes) }
        guard let count else { return false }
        control.removeFirst(count)
        return true
    }

    private mutating func sendChunk(_ socket: StreamSocket) throws(SystemError) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: chunks[0].filled[sent...])
        guard let count = try socket.send(rest) else { return false }
        sent += count
        if count == rest.count {
            chunks.removeFirst()
            sent = 0
        }
        return true
    }
}
