import Testing
import TransferIO

@testable import TransferConnection

/// Does what a pipe says, with a peer that sends in pieces and a pool that takes its time.
struct ToySession {
    /// Turns that are far more than any of these needs.
    private static let mostTurns = 100_000

    private let buffers = BufferPool(size: ToyBatch.bufferSize, count: 64)
    private var pipe = BatchPipe<ToyBatch>()
    private var coming: [ArraySlice<UInt8>]

    /// Turns of the session for one of the pool.
    var pace = 1
    /// What the pool says that it has left to do, in turn.
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

    /// Buffers that somebody has still.
    var held: Int { pipe.filling == nil && pipe.isDrained ? 0 : 1 }

    /// To the end of the stream, and until the pool rests.
    mutating func run() throws {
        var turns = 0
        while !hasEnded || pipe.isWorking {
            turns += 1
            try #require(turns < Self.mostTurns, "the pipe stands still")
            let hasMoved = !hasEnded && read()
            if pipe.isWorking, !hasMoved || turns.isMultiple(of: pace) { work() }
        }
    }

    /// - Returns: whether there was anything to do but to wait.
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
        // Nobody is sent to the pool who is there.
        if hasToBegin { #expect(pipe.isWorking) }
        #expect(pipe.isWorking || pipe.isDrained)
    }

    private mutating func work() {
        guard pipe.hasWork else { return pipe.rest() }
        let batches = pipe.take()
        mostWaiting = max(mostWaiting, batches.count)
        worked += batches.flatMap(\.found)
        // A pool that always has work would never be done.
        pipe.worked(leaving: batches.isEmpty ? .nothing : left[jobs % left.count])
        jobs += 1
    }
}
