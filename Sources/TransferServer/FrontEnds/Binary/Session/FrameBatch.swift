package import TransferAccess
package import TransferConnection
package import TransferIO
package import TransferModel
import TransferProtocol

/// One receive buffer on its way to the pool, with what was found in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
package final class FrameBatch: ReceivedSteps, @unchecked Sendable {
    /// A step of an upload; data lies in the buffer.
    enum Operation {
        case begin(Begin)
        case resume(Begin)
        case lookup(Lookup)
        case data(DataPiece)
        case block(BlockDigest)
        case end(End)
        case abort
    }

    /// Steps in one batch at most. The smallest frame has 7 bytes, so without a bound a buffer full of them would become
    /// thirty times as much memory; this many are 128 KiB.
    static let mostOperations = 1024

    /// Bytes of holes in one batch at most, and of one frame: each is digested, whatever it has taken to send. A client that sends
    /// nothing else is not read while eight batches of them wait.
    static let mostHoles = 64 << 20

    package var input: ReceiveBuffer
    var operations: [Operation] = []
    /// Bytes that its holes stand for.
    private var holes = 0

    package init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    package init(after batch: FrameBatch) {
        input = batch.input
    }

    package var isEmpty: Bool { operations.isEmpty }

    package var isComplete: Bool { operations.count >= Self.mostOperations || holes >= Self.mostHoles }

    /// Whether it has more than content of what has begun before.
    var hasBeginnings: Bool {
        operations.contains { operation in
            switch operation {
            case .begin, .resume, .lookup: true
            case .data, .block, .end, .abort: false
            }
        }
    }

    /// Adds a piece whose range counts from the first unparsed byte. What of one frame came in several pieces becomes one
    /// again: each is a call to the disk.
    func append(_ piece: DataPiece) {
        var placed = piece
        placed.range = input.placed(piece.range)
        // One that is none ends its upload before it costs anything.
        if placed.encoding == .hole, let hole = try? Hole(bytes(placed)) { holes += hole.count }
        if case .data(let last)? = operations.last, let joined = last.joined(with: placed) {
            operations[operations.count - 1] = .data(joined)
        } else {
            operations.append(.data(placed))
        }
    }

    func bytes(_ piece: DataPiece) -> UnsafeRawBufferPointer { input.bytes(piece.range) }
}

/// What came of a batch: frames for the client and uploads that have their result now.
package struct WorkerOutcome: Sendable {
    package var frames: [UInt8] = []
    package var settled: [UploadID] = []
    /// Whether there are uploads whose results wait for the next batch.
    var isWaiting = false
    /// Whether an upload in parts is over: another connection may have waited for that.
    var hasEndedMultipart = false
    /// Whether there is more to do of what the worker has already.
    var isBusy = false
    /// Why the client may begin nothing any more.
    package var refusal: Refusal?

    package var left: BatchPipe<FrameBatch>.Left { isBusy ? .work : isWaiting ? .results : .nothing }
}
