package import TransferIO

/// What a connection receives on its way to the pool: one batch is being filled, some wait, and the pool works on
/// others. The pipe decides when to receive, when to hand over, when not to read, and when it is drained;
/// `WireConnection` acts on that. The pipe itself neither reads nor waits nor parses.
///
/// ```
///            buffer                 received                     handed over
///   empty ───────────► filling ◄─────────────► filling ────────────────────────────► empty
///     ▲                                          │ complete, or a frame that has to wait
///     │                       parsed             ▼
///     └──────────────────── filling ◄───────── behind ──set aside──► setAside ──buffer──► behind
/// ```
///
/// The pool's side is idle or at work, with a note of what it has left to do.
package struct BatchPipe<Batch: PipedBatch> {
    /// What the connection has to do next to get more.
    package enum Reading: Equatable, Sendable {
        /// Wait: too much waits for the pool or for the peer. The socket must not be read.
        case wait
        /// Get a buffer for the next batch.
        case takeBuffer
        /// Parse what was received already.
        case parse
        case receive
    }

    /// How far parsing has got.
    package enum Parsed: Equatable, Sendable {
        /// More bytes are needed for the next frame.
        case everything
        /// The batch has all its steps, or what follows has to wait.
        case untilFull
    }

    /// What the pool has left to do of what it was given.
    package enum Left: Equatable, Sendable {
        case nothing
        /// It has worked on all of it, and results wait for the next batch.
        case results
        /// It has to continue before it takes anything else.
        case work
    }

    /// The place for bytes that are received.
    private enum Input {
        /// No buffer is held: between frames an idle connection must not have one.
        case empty(carry: [UInt8])
        /// The same, with whole frames in the carry.
        case setAside([UInt8])
        case filling(Batch)
        /// There are whole frames after those that were parsed.
        case behind(Batch)
    }

    private enum Worker: Equatable {
        case idle
        case working(Left)
    }

    /// The most batches that wait for the pool, beside the one that it works on and the one that is being filled. If
    /// both ends share the cores, one of them stands still for milliseconds while the other runs; what waits must last
    /// that long. When buffers are scarce, fewer may wait.
    package static var limit: (usual: Int, scarce: Int) { (8, 2) }

    private var input = Input.empty(carry: [])
    private var queue: [Batch] = []
    private var worker = Worker.idle

    /// - Parameter received: what was received before there was a pipe.
    package init(received: [UInt8] = []) {
        if !received.isEmpty { input = .setAside(received) }
    }
}

// MARK: Reading

extension BatchPipe {
    /// - Parameters:
    ///   - isScarce: whether few buffers are left.
    ///   - takesAnswers: whether the peer takes what is sent to it. What is in a buffer already is parsed even if it
    ///     does not.
    package func reading(isScarce: Bool, takesAnswers: Bool) -> Reading {
        guard queue.count < (isScarce ? Self.limit.scarce : Self.limit.usual), isBehind || takesAnswers else {
            return .wait
        }
        return switch input {
        case .empty, .setAside: .takeBuffer
        case .filling: .receive
        case .behind: .parse
        }
    }

    /// The batch that is being filled.
    package var filling: Batch? {
        switch input {
        case .empty, .setAside: nil
        case .filling(let steps), .behind(let steps): steps
        }
    }

    /// Bytes that were received and wait without a buffer.
    package var carried: Int {
        switch input {
        case .empty(let carry), .setAside(let carry): carry.count
        case .filling, .behind: 0
        }
    }

    package var isBehind: Bool {
        switch input {
        case .empty, .filling: false
        case .setAside, .behind: true
        }
    }

    /// Whether all received bytes are parsed.
    package var isParsed: Bool {
        switch input {
        case .empty(let carry), .setAside(let carry): carry.isEmpty
        case .filling(let steps), .behind(let steps): steps.unparsed.isEmpty
        }
    }

    /// Begins a batch in a buffer.
    package mutating func begin(in buffer: BlockBuffer) {
        switch input {
        case .empty(let carry): input = .filling(Batch(buffer, carry: carry))
        case .setAside(let carry): input = .behind(Batch(buffer, carry: carry))
        // A batch that has a buffer keeps it.
        case .filling, .behind: break
        }
    }

    /// Notes the result of parsing the batch.
    package mutating func parsed(_ parsed: Parsed) {
        guard let steps = filling else { return }
        input = parsed == .everything ? .filling(steps) : .behind(steps)
    }

    /// Gives the buffer back although it has frames that have to wait. Steps that were found before are handed over
    /// nevertheless.
    ///
    /// - Returns: whether the pool has to begin; it may have finished since the batch was held back because it was at
    ///   work.
    package mutating func setAside() -> Bool {
        guard let steps = filling else { return false }
        input = .setAside(Array(steps.unparsed))
        return !steps.isEmpty && enqueue(steps)
    }

    /// Hands over the batch, unless it is better to receive more first: while the pool is busy, fewer and larger
    /// batches are cheaper.
    ///
    /// - Returns: whether the pool has to begin.
    package mutating func handOver() -> Bool {
        guard let steps = filling else { return false }
        // A batch without steps only holds a buffer.
        guard !steps.isEmpty else {
            release(steps)
            return false
        }
        guard worker == .idle || steps.input.isFull || steps.isComplete else { return false }
        return push(steps)
    }

    /// Hands over the batch, because no more bytes are awaited.
    ///
    /// - Returns: whether the pool has to begin.
    private mutating func handOverAll() -> Bool {
        guard let steps = filling, !steps.isEmpty else { return handOver() }
        return push(steps)
    }

    /// Hands over the complete steps and drops the rest, because no more bytes will come.
    ///
    /// - Returns: whether the pool has to begin.
    package mutating func finish() -> Bool {
        defer { input = .empty(carry: []) }
        return handOverAll()
    }

    private mutating func push(_ steps: Batch) -> Bool {
        release(steps)
        return enqueue(steps)
    }

    private mutating func enqueue(_ steps: Batch) -> Bool {
        queue.append(steps)
        guard worker == .idle else { return false }
        worker = .working(.nothing)
        return true
    }

    private mutating func release(_ steps: Batch) {
        input = isBehind ? .behind(Batch(after: steps)) : .empty(carry: Array(steps.unparsed))
    }
}

// MARK: Working

extension BatchPipe {
    package var isWorking: Bool { worker != .idle }

    /// Whether the pool is idle and no batch waits for it.
    package var isDrained: Bool { worker == .idle && queue.isEmpty }

    /// Whether another batch will follow those that the pool works on.
    package var hasMore: Bool { !queue.isEmpty || filling?.isEmpty == false }

    /// Whether the pool has to continue, or to begin with what waits.
    package var hasWork: Bool { !queue.isEmpty || worker == .working(.results) || worker == .working(.work) }

    /// All waiting batches at once, because each hand-over costs two changes of thread. Empty if the pool has not
    /// finished its last ones.
    package mutating func take() -> [Batch] {
        guard worker != .working(.work) else { return [] }
        defer { queue = [] }
        return queue
    }

    /// Notes that the pool has finished what it took, except for what is left.
    package mutating func worked(leaving left: Left = .nothing) {
        worker = .working(left)
        // The batch that it waits for may still be being filled.
        if left == .results, queue.isEmpty { _ = handOverAll() }
    }

    /// Notes an event that the pool has waited for, with nothing else to do.
    ///
    /// - Returns: whether the pool has to begin.
    package mutating func resume() -> Bool {
        guard worker == .idle else { return false }
        worker = .working(.work)
        return true
    }

    /// Notes that the pool has nothing more to do.
    package mutating func rest() {
        worker = .idle
    }
}
