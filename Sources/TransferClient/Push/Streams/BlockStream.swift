import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Reads a stream a block at a time. Its position outlives connections.
///
/// `@unchecked Sendable`: whoever has the upload that is to be read is the only one to touch it, and hands that on through
/// the feed.
final class BlockStream: @unchecked Sendable {
    /// What came of reading for a while.
    enum Step {
        /// The block is not full yet.
        case more
        /// All blocks are in use: somebody has to let one go first.
        case noRoom
        case block(StreamBlock)
        /// The last bytes, if there were any left.
        case end(StreamBlock?)
    }

    /// Blocks in memory at once, the one that is being read included: 16 MiB are on their way at full speed for 16 ms of
    /// round trip at 1 GB/s.
    static let mostBlocks = 4

    /// Nanoseconds after which a stream that gives little is left for a moment: somebody may want the thread to stop.
    private static let longestTurn: Int64 = 5_000_000

    let source: any ByteSource
    /// One more than are in use: a lane may hold on to one for a moment longer than the server needs it.
    private let buffers = BufferPool(size: Limits.blockSize, count: mostBlocks + 1)
    private var current: StreamBlock?
    private var nextIndex: UInt64 = 0
    /// A terminal can be read again after its end; a stream that ended once has ended.
    private var hasEnded = false

    init(_ source: any ByteSource) {
        self.source = source
    }

    /// Reads on until a block is full, the stream ends, or some time has passed.
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

    /// - Returns: false at the end.
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

/// Bytes of a stream that are kept until the server has them.
///
/// `@unchecked Sendable`: filled before anybody else sees it, and only read afterwards.
final class StreamBlock: @unchecked Sendable {
    let index: UInt64

    /// Bytes in it.
    fileprivate(set) var count = 0

    private let buffer: BlockBuffer

    init(index: UInt64, _ buffer: BlockBuffer) {
        self.index = index
        self.buffer = buffer
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]) }

    /// Where they are in the stream.
    var range: Range<UInt64> {
        let start = index * UInt64(Limits.blockSize)
        return start..<start + UInt64(count)
    }

    fileprivate var room: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[count..<Limits.blockSize])
    }
}
