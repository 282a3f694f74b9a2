import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Reads a stream in blocks. The position survives lost connections.
///
/// `@unchecked Sendable`: only the owner of the upload that is to be read uses it, and passes it on through the feed.
final class BlockStream: @unchecked Sendable {
    /// The outcome of one turn of reading.
    enum Step {
        /// The block is not full yet.
        case more
        /// All blocks are in use; one must be released first.
        case noRoom
        case block(StreamBlock)
        /// The stream has ended, with the last bytes if there were any.
        case end(StreamBlock?)
    }

    /// The most blocks in memory, including the one being read: 16 MiB are the bytes under way at 1 GB/s with a round
    /// trip of 16 ms.
    static let mostBlocks = 4

    /// Nanoseconds after which a turn of reading a slow stream ends, so that the session can stop it.
    private static let longestTurn: Int64 = 5_000_000

    let source: any ByteSource
    /// One buffer more than blocks, because a lane may hold one a moment longer than the server needs it.
    private let buffers = BufferPool(size: Limits.blockSize, count: mostBlocks + 1)
    private var current: StreamBlock?
    private var nextIndex: UInt64 = 0
    /// A terminal could be read again after its end; here the first end counts.
    private var hasEnded = false

    init(_ source: any ByteSource) {
        self.source = source
    }

    /// Reads until a block is full, the stream ends, or the turn is over.
    ///
    /// - Throws: `sourceUnreadable`.
    func read() throws(Failure) -> Step {
        guard !hasEnded else { return .end(nil) }
        guard let block = current ?? nextBlock() else { return .noRoom }
        current = block
        let limit = monotonicNanoseconds() + Self.longestTurn
        repeat {
            guard try fill(block) else {
                hasEnded = true
                current = nil
                return .end(block.count > 0 ? block : nil)
            }
            guard block.count < Limits.blockSize else {
                current = nil
                return .block(block)
            }
        } while monotonicNanoseconds() < limit
        return .more
    }

    private func nextBlock() -> StreamBlock? {
        guard let buffer = buffers.takeNow() else { return nil }
        defer { nextIndex += 1 }
        return StreamBlock(index: nextIndex, buffer)
    }

    /// - Returns: false at the end of the stream.
    private func fill(_ block: StreamBlock) throws(Failure) -> Bool {
        let room = block.room
        do {
            let count = max(0, min(try source.read(into: room), room.count))
            block.count += count
            return count > 0
        } catch {
            throw Failure(.sourceUnreadable, "The stream could not be read: \(error).")
        }
    }
}

/// A block of a stream, kept until the server has it.
///
/// `@unchecked Sendable`: it is filled before it is shared, and only read afterwards.
final class StreamBlock: @unchecked Sendable {
    let index: UInt64

    /// The number of bytes in it.
    fileprivate(set) var count = 0

    private let buffer: BlockBuffer

    init(index: UInt64, _ buffer: BlockBuffer) {
        self.index = index
        self.buffer = buffer
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]) }

    /// The range of the bytes in the stream.
    var range: Range<UInt64> {
        let start = index * UInt64(Limits.blockSize)
        return start..<start + UInt64(count)
    }

    fileprivate var room: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count..<Limits.blockSize])
    }
}
