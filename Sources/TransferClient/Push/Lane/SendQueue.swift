import TransferIO
import TransferModel

/// What waits for the socket: chunks of content, and control frames between them.
struct SendQueue {
    private var chunks: [OutgoingChunk] = []
    private var control: [UInt8] = []
    /// The bytes of the first chunk that the kernel has taken; 0 means that the connection is between frames.
    private var sent = 0

    var chunkCount: Int { chunks.count }

    /// The chunks of which the kernel has taken nothing.
    var untouched: ArraySlice<OutgoingChunk> { chunks[(sent > 0 ? 1 : 0)...] }
    var isEmpty: Bool { chunks.isEmpty && control.isEmpty }

    mutating func append(_ chunk: OutgoingChunk) {
        chunks.append(chunk)
    }

    mutating func append(control frames: [UInt8]) {
        control.append(contentsOf: frames)
    }

    /// What the kernel has taken, and why it has taken no more.
    struct Sent {
        var hasSent = false
        /// The bytes of chunks with content, as they are on the wire.
        var travelled = 0
        /// The bytes of content that the kernel has taken of each chunk. The content of a compressed chunk counts as
        /// evenly spread over its bytes.
        var content: [(bytes: Int, epoch: Int)] = []
        /// Whether the kernel, or the limit of the rate, keeps ready bytes from being sent.
        var isBlocked = false
        /// The time from which on the rate limit allows the next bytes, if only this limit holds them back.
        var resumesAt: MonotonicTime?
    }

    /// Sends until the kernel takes no more, nothing is ready, or the limit of the rate is reached.
    ///
    /// - Parameter bandwidth: the rate limit. Control frames do not wait for it, but count towards it.
    mutating func drain(into socket: StreamSocket, _ bandwidth: Bandwidth?) throws(StreamError) -> Sent {
        var result = Sent()
        while hasReady {
            // A chunk that has begun must be sent completely first, because frames cannot be interleaved.
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
