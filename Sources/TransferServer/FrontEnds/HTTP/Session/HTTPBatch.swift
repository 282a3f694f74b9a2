import TransferConnection
import TransferHTTP
import TransferIO

/// One receive buffer on its way to the pool, with the requests in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class HTTPBatch: ReceivedSteps, @unchecked Sendable {
    enum Operation {
        case request(HTTPRequest)
        /// Content of the request that came last, as it lies in the buffer.
        case content(Range<Int>)
        /// All content of the request has come, with its trailers.
        case end(HTTPFields)
    }

    /// Steps in one batch at most, so that a buffer full of short requests, or of chunks of a byte, does not become many times
    /// as much memory.
    static let mostOperations = 512

    var input: ReceiveBuffer
    private(set) var operations: [Operation] = []

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after batch: HTTPBatch) {
        input = batch.input
    }

    var isEmpty: Bool { operations.isEmpty }

    var isComplete: Bool { operations.count >= Self.mostOperations }

    private(set) var hasContent = false

    func append(_ operation: Operation) { operations.append(operation) }

    /// Adds content whose range counts from the first unparsed byte. What comes right behind other content becomes one piece
    /// with it: each is a call to the disk.
    func append(content range: Range<Int>) {
        hasContent = true
        let placed = input.placed(range)
        if case .content(let last)? = operations.last, last.upperBound == placed.lowerBound {
            operations[operations.count - 1] = .content(last.lowerBound..<placed.upperBound)
        } else {
            operations.append(.content(placed))
        }
    }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer { input.bytes(range) }
}
