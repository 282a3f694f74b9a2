package import TransferIO

/// What a connection has received and the pool has not finished: one batch is being filled, some wait, and the pool
/// works on others. The pipe decides when to receive, when to hand a batch to the pool, when not to read, and when all
/// work is done; `WireConnection` acts on these decisions. The pipe itself neither reads nor waits nor parses.
///
/// ```
///            buffer                 received                     handed over
///   empty ───────────► filling ◄─────────────► filling ────────────────────────────► empty
///     ▲                                          │ complete, or a frame that has to wait
///     │                       parsed             ▼
///     └──────────────────── filling ◄───────── behind ──set aside──► setAside ──buffer──► behind
/// ```
///
/// The pool's side is idle or at work; at work, it may have a note of what is left to do.
package struct BatchPipe<Batch: PipedBatch> {
    /// What the connection has to do next to get more steps.
    package enum Reading: Equatable, Sendable {
        /// Wait: too many batches wait for the pool, or the peer does not take its answers. The socket must not be
        /// read.
        case wait
        /// Get a buffer for the next batch.
        case takeBuffer
        /// Parse bytes that were already received.
        case parse
        case receive
    }

    /// How far parsing has got.
    package enum Parsed: Equatable, Sendable {
        /// More bytes are needed for the next frame.
        case everything
        /// The batch has all its steps, or the next frame has to wait.
        case untilFull
    }

    /// What the pool has left to do of the batches that it took.
    package enum Left: Equatable, Sendable {
        case nothing
        /// The pool has worked on all of them. Some results still have to be made, together with those of the next
        /// batch if there is one.
        case results
        /// The pool has to continue before it takes other batches.
        case work
    }

    /// State of the receiving side: whether it holds a batch to fill, and which received bytes are not parsed.
    private enum Input {
        /// No buffer is held, because an idle connection must not hold one between frames. `carry` has the beginning of
        /// the next frame.
        case empty(carry: [UInt8])
        /// No buffer is held, and these bytes contain whole frames that have to wait.
        case setAside([UInt8])
        case filling(Batch)
        /// The batch's buffer has whole frames that are not parsed yet.
        case behind(Batch)
    }

    private enum Worker: Equatable {
        case idle
        case working(Left)
    }

    /// The most batches that wait for the pool, besides those that it works on and the one that is being filled. If
    /// both ends share the cores, one end stands still for milliseconds while the other runs, and the waiting batches
    /// must last that long. When buffers are scarce, fewer may wait.
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
    ///   - takesAnswers: whether the peer takes what is sent to it. Bytes that are already in a buffer are parsed even
    ///     if it does not.
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

    /// Gives up the buffer although it contains frames that have to wait. The steps that were found before them are
    /// handed to the pool.
    ///
    /// - Returns: whether the pool has to begin. The batch may have been held back because the pool was at work, and
    ///   the pool may have finished since.
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
        // A batch without steps only holds a buffer, which is given up.
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

    /// Whether there is another batch after those that the pool works on.
    package var hasMore: Bool { !queue.isEmpty || filling?.isEmpty == false }

    /// Whether the pool has work left, or batches wait for it.
    package var hasWork: Bool { !queue.isEmpty || worker == .working(.results) || worker == .working(.work) }

    /// Takes all waiting batches at once, because each hand-over costs two changes of thread. Empty if the pool has
    /// work left from the batches that it took before.
    package mutating func take() -> [Batch] {
        guard worker != .working(.work) else { return [] }
        defer { queue = [] }
        return queue
    }

    /// Notes that the pool has finished the batches that it took, except for `left`.
    package mutating func worked(leaving left: Left = .nothing) {
        worker = .working(left)
        // The next batch, for which the results wait, may still be being filled.
        if left == .results, queue.isEmpty { _ = handOverAll() }
    }

    /// Notes that an event has come for which the pool has waited. Has no effect while the pool is at work.
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
