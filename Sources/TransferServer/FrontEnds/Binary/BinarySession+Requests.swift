import TransferCodec
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// Requests that wait for the pool.
struct WaitingRequests {
    var requests: [Request] = []
    var cancelled: [UInt32] = []
    /// Whether somebody works on requests.
    var isServing = false
    /// Whether the worker has more to do than what waits here.
    var isBusy = false

    var isEmpty: Bool { requests.isEmpty && cancelled.isEmpty && !isBusy }

    mutating func take() -> (requests: [Request], cancelled: [UInt32]) {
        defer { (requests, cancelled) = ([], []) }
        return (requests, cancelled)
    }
}

/// What clients ask of the files: the pool makes one chunk of answers while the one before it leaves.
extension BinarySession {
    /// Bytes of content in one chunk, also where too much waits for all clients together. Half of it costs a tenth more.
    private static let chunkRoom = (usual: Transport.chunkSize, crowded: 32 << 10)

    /// Bytes of answers that may wait for the client before more are made: a chunk and what is left of the one before it.
    private static let answersAhead = 3 * Transport.chunkSize / 2

    /// Chunks that may wait, however little is in each.
    private static let mostChunks = 3

    func admit(_ request: Request) {
        driver.liveness.active(now: .now)
        waiting.requests.append(request)
        serve()
    }

    func cancel(_ id: UInt32) {
        waiting.cancelled.append(id)
        serve()
    }

    private func serve() {
        guard !waiting.isServing else { return }
        waiting.isServing = true
        Task(executorPreference: loop) { await self.serveLoop() }
    }

    private func serveLoop() async {
        while ending == nil, !driver.isOver, !waiting.isEmpty {
            let isCrowded = transport.isCrowded
            guard outbound.count < (isCrowded ? 1 : Self.answersAhead), outbound.chunks < Self.mostChunks else {
                await roomForAnswers.wait()
                continue
            }
            let room = isCrowded ? Self.chunkRoom.crowded : Self.chunkRoom.usual
            let (requests, cancelled) = waiting.take()
            let (choice, epoch) = (governor.choose(), governor.epoch)
            let outcome = await transport.pool.run(for: account) { [requestWorker, isDraining] in
                requestWorker.step(
                    requests, cancelled: cancelled, room: room, compression: choice, isStopping: isDraining)
            }
            waiting.isBusy = outcome.isBusy
            conversation.answered(outcome.answered)
            driver.liveness.active(now: .now)
            learn(from: outcome)
            queue(outcome.chunk, epoch)
            if outcome.watches { watchMail() }
            if let refusal = outcome.refusal { end(.refused(refusal)) }
        }
        waiting.isServing = false
        endIfDrained()
        driver.wake.fire()
    }

    /// Sends in a task of its own, so that the pool can begin with the next chunk before that.
    private func queue(_ chunk: FrameChunk, _ epoch: Int) {
        guard chunk.count > 0, !driver.isOver else { return }
        progress.answered(chunk.count)
        let start = outbound.appended
        outbound.append(chunk)
        answers.append(start..<outbound.appended, content: chunk.contentCount, epoch: epoch)
        Task(executorPreference: loop) { await self.flush() }
    }

    private func learn(from outcome: RequestOutcome) {
        if outcome.beginsContent { governor.contentChanged() }
        let compression = outcome.compression
        if !compression.figures.isEmpty { governor.measured(compression.figures) }
        if compression.before > 0 { governor.compressed(before: compression.before, after: compression.after) }
    }

    /// Lets the work on requests come to an end.
    func endRequests() async {
        waiting.isBusy = false
        roomForAnswers.fire()
        while waiting.isServing { await driver.wake.wait() }
        await transport.pool.run(for: account) { [requestWorker] in requestWorker.end() }
    }
}

/// Which of the bytes that wait for a client are content, and what was decided about them.
struct AnswersOnTheirWay {
    private struct Span {
        let bytes: Range<Int>
        let content: Int
        let epoch: Int
        var sent = 0
    }

    /// In the order in which they leave.
    private var spans: [Span] = []

    /// A chunk is appended.
    ///
    /// - Parameters:
    ///   - bytes: where it lies in all that was ever sent.
    ///   - content: bytes of content in it, taken as spread evenly.
    ///   - epoch: the governor's, when it decided about the chunk.
    mutating func append(_ bytes: Range<Int>, content: Int, epoch: Int) {
        guard content > 0, !bytes.isEmpty else { return }
        spans.append(Span(bytes: bytes, content: content, epoch: epoch))
    }

    /// All up to that place has left.
    ///
    /// - Returns: the content that has left since the last call.
    mutating func left(upTo place: Int) -> [(content: Int, epoch: Int)] {
        var left: [(content: Int, epoch: Int)] = []
        while let span = spans.first, place > span.bytes.lowerBound {
            let bytes = min(place, span.bytes.upperBound) - span.bytes.lowerBound
            // Trap: a chunk has some MiB of content in some hundred KiB.
            let content = span.content * bytes / span.bytes.count
            left.append((content - span.sent, span.epoch))
            spans[0].sent = content
            guard place >= span.bytes.upperBound else { break }
            spans.removeFirst()
        }
        return left
    }
}
