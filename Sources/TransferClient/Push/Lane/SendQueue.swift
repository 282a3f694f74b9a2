import TransferIO
import TransferModel

/// What waits for the socket: chunks of content, and frames of control that go between them.
struct SendQueue {
    private var chunks: [OutgoingChunk] = []
    private var control: [UInt8] = []
    /// Bytes of the first chunk that the kernel has; 0 means that the stream is between frames.
    private var sent = 0

    var chunkCount: Int { chunks.count }

    /// Chunks of which the kernel has nothing.
    var untouched: ArraySlice<OutgoingChunk> { chunks[(sent > 0 ? 1 : 0)...] }
    var isEmpty: Bool { chunks.isEmpty && control.isEmpty }

    mutating func append(_ chunk: OutgoingChunk) {
        chunks.append(chunk)
    }

    mutating func append(control frames: [UInt8]) {
        control.append(contentsOf: frames)
    }

    /// What came of sending.
    struct Sent {
        var hasSent = false
        /// Bytes of chunks with content in them, as they are.
        var travelled = 0
        /// Bytes of content that the kernel has taken, chunk by chunk; of compressed chunks as if they were spread evenly
        /// over them.
        var content: [(bytes: Int, epoch: Int)] = []
        /// Something could be sent if the kernel took it, or if it were time.
        var isBlocked = false
        /// When it is time for the next bytes, where that is all that keeps them.
        var resumesAt: MonotonicTime?
    }

    /// Sends until the kernel takes no more, nothing is ready, or it is not time for more.
    ///
    /// - Parameter bandwidth: holds the rate; frames of control don't wait for it, but count.
    mutating func drain(into socket: StreamSocket, _ bandwidth: Bandwidth?) throws(StreamError) -> Sent {
        var result = Sent()
        while hasReady {
            // A chunk that has begun must end before anything else: frames are not interleaved.
            let taken =
                sent == 0 && !control.isEmpty
                ? try sendControl(socket, bandwidth) : try sendChunk(socket, bandwidth, &result)
            guard taken else {
                result.isBlocked = true
                break
            }
            result.hasSent = true
        }
        return result
    }

    private var hasReady: Bool { !control.isEmpty && sent == 0 || chunks.first?.isReady ?? false }

    private mutating func sendControl(_ socket: StreamSocket, _ bandwidth: Bandwidth?) throws(StreamError) -> Bool {
        let count = try control.span.bytes.withUnsafeBytes { (bytes) throws(StreamError) in try socket.send(bytes) }
        guard let count else { return false }
        bandwidth?.charge(count)
        control.removeFirst(count)
        return true
    }

    private mutating func sendChunk(
        _ socket: StreamSocket, _ bandwidth: Bandwidth?, _ result: inout Sent
    ) throws(StreamError) -> Bool {
        var rest = UnsafeRawBufferPointer(rebasing: chunks[0].filled[sent...])
        let unsent = rest.count
        if let bandwidth {
            switch bandwidth.take(atMost: unsent) {
            case .bytes(let count): rest = UnsafeRawBufferPointer(rebasing: rest[..<count])
            case .waitUntil(let time):
                result.resumesAt = time
                return false
            }
        }
        let taken = try socket.send(rest)
        bandwidth?.giveBack(rest.count - (taken ?? 0))
        guard let count = taken else { return false }
        let (chunk, before) = (chunks[0], sent)
        sent += count
        if chunk.contentCount > 0 { result.travelled += count }
        let bytes = chunk.contentCount * sent / chunk.count - chunk.contentCount * before / chunk.count
        result.content.append((bytes, chunk.epoch))
        if count == unsent {
            chunks.removeFirst()
            sent = 0
        }
        return true
    }
}
