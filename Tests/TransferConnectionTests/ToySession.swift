import Testing
import TransferIO

@testable import TransferConnection

/// Follows the pipe's decisions, with a peer that sends in pieces and a slow pool.
struct ToySession {
    /// Far more turns than any test needs.
    private static let mostTurns = 100_000

    private let buffers = BufferPool(size: ToyBatch.bufferSize, count: 64)
    private var pipe = BatchPipe<ToyBatch>()
    private var coming: [ArraySlice<UInt8>]

    /// Number of turns of the session per turn of the pool.
    var pace = 1
    /// The remaining work that the pool reports, in turn.
    var left: [BatchPipe<ToyBatch>.Left] = [.nothing]
    var isScarce = false

    private(set) var worked: [[UInt8]] = []
    private(set) var mostWaiting = 0
    private var jobs = 0
    private var hasEnded = false

    init(cuts: [Int], of stream: [UInt8]) {
        var rest = stream[...]
        coming = cuts.map { count in
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        coming.append(rest)
        coming.removeAll(where: \.isEmpty)
    }

    /// Whether the pipe still holds a buffer.
    var held: Int { pipe.filling == nil && pipe.isDrained ? 0 : 1 }

    /// Runs to the end of the stream, and until the pool is idle.
    mutating func run() throws {
        var turns = 0
        while !hasEnded || pipe.isWorking {
            turns += 1
            try #require(turns < Self.mostTurns, "the pipe stands still")
            let hasMoved = !hasEnded && read()
            if pipe.isWorking, !hasMoved || turns.isMultiple(of: pace) { work() }
        }
    }

    /// - Returns: whether there was anything to do except waiting.
    private mutating func read() -> Bool {
        switch pipe.reading(isScarce: isScarce, takesAnswers: true) {
        case .wait:
            start(pipe.handOver())
            return false
        case .takeBuffer:
            guard let buffer = buffers.takeNow() else { return false }
            pipe.begin(in: buffer)
        case .parse: parse()
        case .receive: receive()
        }
        return true
    }

    private mutating func receive() {
        guard let batch = pipe.filling else { return }
        guard let piece = coming.first else {
            hasEnded = true
            return start(pipe.finish())
        }
        let taken = batch.receive(piece)
        coming[0] = piece.dropFirst(taken)
        if coming[0].isEmpty { coming.removeFirst() }
        parse()
    }

    private mutating func parse() {
        guard let batch = pipe.filling else { return }
        pipe.parsed(batch.parse())
        start(pipe.handOver())
    }

    private mutating func start(_ hasToBegin: Bool) {
        // A pool that works already must not be started again.
        if hasToBegin { #expect(pipe.isWorking) }
        #expect(pipe.isWorking || pipe.isDrained)
    }

    private mutating func work() {
        guard pipe.hasWork else { return pipe.rest() }
        let batches = pipe.take()
        mostWaiting = max(mostWaiting, batches.count)
        worked += batches.flatMap(\.found)
        // A pool that always has work would never finish.
        pipe.worked(leaving: batches.isEmpty ? .nothing : left[jobs % left.count])
        jobs += 1
    }
}
