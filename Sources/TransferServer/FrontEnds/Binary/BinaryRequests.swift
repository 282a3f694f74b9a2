import TransferCodec
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// The requests of one client for files: the pool makes one chunk of answers while the previous one is sent.
///
/// Part of a `BinarySession`. `admit` and `cancel` are called for the client's messages, in order; `flushed` whenever the client has taken
/// some of the waiting bytes; `end` once, after all others.
final class BinaryRequests {
    /// Most chunks that may wait for the client, however small they are.
    static let mostChunks = 3

    /// Answers the requests on the pool.
    let worker: RequestWorker

    /// Decides whether content is compressed for the client. Before the client has stated its formats, nothing is.
    private var governor = CompressionGovernor(.none)
    private var answers = AnswersOnTheirWay()
    private var waiting: (requests: [Request], cancelled: [UInt32]) = ([], [])
    /// Whether a task is running that lets the pool work on requests.
    private(set) var isServing = false
    /// Whether the worker still has work on requests that it has received.
    private var isBusy = false
    /// Fired when the client has taken some of the bytes that wait for it, and when there is other work.
    private let roomForAnswers = Signal()
    /// What the worker waits for, and the number of the one who waits; nil if it can go on.
    private var awaited: (signal: any AnswerSignal, watcher: Int)?

    init(_ worker: RequestWorker) {
        self.worker = worker
    }

    /// Sets the formats that the client can decompress.
    func compress(as formats: Set<CompressionFormat>) {
        if !formats.isEmpty { governor = CompressionGovernor(.auto, formats: formats) }
    }

    func admit(_ request: Request, on connection: isolated BinarySession.Connection) {
        connection.driver.liveness.active(now: .now)
        waiting.requests.append(request)
        serve(on: connection)
    }

    func cancel(_ id: UInt32, on connection: isolated BinarySession.Connection) {
        waiting.cancelled.append(id)
        serve(on: connection)
    }

    private func serve(on connection: isolated BinarySession.Connection) {
        guard !isServing else { return wake() }
        isServing = true
        connection.start { await $0.session.requests.serveLoop(on: $0) }
    }

    private func serveLoop(on connection: isolated BinarySession.Connection) async {
        let session = connection.session
        while connection.ending == nil, !connection.driver.isOver,
            isBusy || !waiting.requests.isEmpty || !waiting.cancelled.isEmpty
        {
            let answers = session.client.transport.answerRoom
            if awaited != nil {
                await roomForAnswers.wait()
                continue
            }
            guard connection.outbound.count < answers.ahead,
                connection.outbound.chunks < Self.mostChunks
            else {
                await roomForAnswers.wait()
                continue
            }
            let (requests, cancelled) = waiting
            waiting = ([], [])
            let (choice, epoch, isStopping) = (governor.choose(), governor.epoch, connection.isDraining)
            let outcome = await session.onPool { [worker] in
                worker.step(
                    requests, cancelled: cancelled, room: answers.chunk, compression: choice, isStopping: isStopping)
            }
            isBusy = outcome.isBusy
            session.wire.answered(outcome.answered)
            connection.driver.liveness.active(now: .now)
            learn(from: outcome)
            queue(outcome.chunk, epoch, on: connection)
            if let signal = outcome.waits { wait(for: signal, on: connection) }
            if outcome.watches { session.mail.watch(session.client, on: connection) }
            if let refusal = outcome.refusal { connection.end(.refused(refusal)) }
        }
        wake()
        isServing = false
        session.endIfDone(on: connection)
        connection.driver.wake.fire()
    }

    /// Lets the pool rest until the signal comes, or other work does.
    private func wait(for signal: any AnswerSignal, on connection: isolated BinarySession.Connection) {
        let watcher = connection.session.client.number
        awaited = (signal, watcher)
        signal.watch(watcher) { [weak connection] in connection?.start { $0.session.requests.wake() } }
        if !waiting.requests.isEmpty || !waiting.cancelled.isEmpty || connection.isDraining { wake() }
    }

    /// Lets the worker go on, whatever it waits for.
    func wake() {
        if let awaited { awaited.signal.leave(awaited.watcher) }
        awaited = nil
        roomForAnswers.fire()
    }

    /// Appends a chunk, and sends it in a separate task, so that the pool can begin with the next chunk before it is sent.
    private func queue(_ chunk: AnswerChunk, _ epoch: Int, on connection: isolated BinarySession.Connection) {
        guard chunk.count > 0, !connection.driver.isOver else { return }
        connection.session.client.progress.answered(chunk.count)
        let start = connection.outbound.appended
        connection.outbound.append(chunk)
        answers.append(start..<connection.outbound.appended, content: chunk.contentCount, epoch: epoch)
        connection.start { $0.flush() }
    }

    private func learn(from outcome: RequestOutcome) {
        if outcome.beginsContent { governor.contentChanged() }
        let compression = outcome.compression
        if !compression.figures.isEmpty { governor.measured(compression.figures) }
        if compression.before > 0 { governor.compressed(before: compression.before, after: compression.after) }
    }

    /// Tells the governor what was sent, and whether the client's link holds up the rest.
    func flushed(_ outbound: borrowing Outbound<AnswerChunk>) {
        let now = MonotonicTime.now
        for (content, epoch) in answers.left(upTo: outbound.appended - outbound.count) {
            governor.sent(content: content, epoch: epoch, now: now)
        }
        if outbound.isEmpty { governor.starved() } else { governor.blocked(now: now) }
        roomForAnswers.fire()
    }

    /// Waits until the work on requests has ended.
    func end(on connection: isolated BinarySession.Connection) async {
        isBusy = false
        roomForAnswers.fire()
        while isServing { await connection.driver.wake.wait() }
        await connection.session.onPool { [worker] in worker.end() }
    }
}

/// Tracks which of the bytes that wait for a client are content, and in which epoch of the governor they were made.
struct AnswersOnTheirWay {
    private struct Span {
        let bytes: Range<Int>
        let content: Int
        let epoch: Int
        var sent = 0
    }

    /// In the order of sending.
    private var spans: [Span] = []

    /// Notes an appended chunk.
    ///
    /// - Parameters:
    ///   - bytes: the chunk's range in all bytes of the connection.
    ///   - content: bytes of content in it; they count as evenly distributed.
    ///   - epoch: the governor's epoch when it decided about the chunk.
    mutating func append(_ bytes: Range<Int>, content: Int, epoch: Int) {
        guard content > 0, !bytes.isEmpty else { return }
        spans.append(Span(bytes: bytes, content: content, epoch: epoch))
    }

    /// Notes that everything up to an offset was sent.
    ///
    /// - Returns: the content that was sent since the last call.
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
