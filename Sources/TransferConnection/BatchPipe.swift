package import TransferIO

/// What a connection receives on its way to the pool: one batch is being filled, some wait, and the pool works on others.
/// Says when to receive, when to hand over, when not to read, and when nothing is left; `WireConnection` carries it out. It
/// neither reads nor waits nor parses itself.
///
/// ```
///            buffer                 received                     handed over
///   empty ───────────► filling ◄─────────────► filling ────────────────────────────► empty
///     ▲                                          │ complete, or a frame that has to wait
///     │                       parsed             ▼
///     └──────────────────── filling ◄───────── behind ──set aside──► setAside ──buffer──► behind
/// ```
///
/// The pool's side is idle or at work, with what it has left to do of what it took.
package struct BatchPipe<Batch: PipedBatch> {
    /// What is to be done next to get more.
    package enum Reading: Equatable, Sendable {
        /// Nothing: too much waits for the pool or for the peer. The socket is not to be read.
        case wait
        /// A buffer is needed.
        case takeBuffer
        /// What was received already comes first.
        case parse
        case receive
    }

    /// What parsing came to.
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
        /// It has to go on before it takes anything else.
        case work
    }

    /// Where bytes go that are received.
    private enum Input {
        /// No buffer is held: between frames an idle connection must not have one.
        case empty(carry: [UInt8])
        /// The same, with whole frames in the carry.
        case setAside([UInt8])
        case filling(Batch)
        /// There are whole frames behind those that were parsed.
        case behind(Batch)
    }

    private enum Worker: Equatable {
        case idle
        case working(Left)
    }

    /// Batches that wait for the pool beside the one that it works on and the one being filled. Where the two sides share
    /// the cores, one of them stands still for milliseconds while the other has its turn: what waits must last as long. With
    /// few buffers left everybody has to do with less.
    package static var limit: (usual: Int, scarce: Int) { (8, 2) }

    private var input = Input.empty(carry: [])
    private var queue: [Batch] = []
    private var worker = Worker.idle

    /// - Parameter received: what has come before there was a pipe.
    package init(received: [UInt8] = []) {
        if !received.isEmpty { input = .setAside(received) }
    }
}

// MARK: Reading

extension BatchPipe {
    /// - Parameters:
    ///   - isScarce: whether few buffers are left.
    ///   - takesAnswers: whether the peer takes what is sent to it. What is in a buffer already is worked on without asking
    ///     for more.
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

    /// Bytes that were received and wait without a buffer for one.
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

    /// Whether nothing was received that was not parsed.
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
        // What has one already keeps it.
        case .filling, .behind: break
        }
    }

    /// The batch was parsed as far as that goes.
    package mutating func parsed(_ parsed: Parsed) {
        guard let steps = filling else { return }
        input = parsed == .everything ? .filling(steps) : .behind(steps)
    }

    /// Gives the buffer back though there are frames in it, for as long as these have to wait. What was found before is worked on all
    /// the same.
    ///
    /// - Returns: whether the pool has to begin: it may have come to its end since the batch was kept back because it was at work.
    package mutating func setAside() -> Bool {
        guard let steps = filling else { return false }
        input = .setAside(Array(steps.unparsed))
        return !steps.isEmpty && enqueue(steps)
    }

    /// Passes on what was received, unless it is better to receive more first: while the pool is busy anyway, fewer and larger
    /// batches are cheaper.
    ///
    /// - Returns: whether the pool has to begin.
    package mutating func handOver() -> Bool {
        guard let steps = filling else { return false }
        // With nothing to do in it, it only holds a buffer.
        guard !steps.isEmpty else {
            release(steps)
            return false
        }
        guard worker == .idle || steps.input.isFull || steps.isComplete else { return false }
        return push(steps)
    }

    /// Passes on what was received, because nothing more is to be waited for.
    ///
    /// - Returns: whether the pool has to begin.
    private mutating func handOverAll() -> Bool {
        guard let steps = filling, !steps.isEmpty else { return handOver() }
        return push(steps)
    }

    /// Passes on what was received whole and drops the rest: nothing more comes.
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

    /// Whether the pool has nothing and nothing waits for it.
    package var isDrained: Bool { worker == .idle && queue.isEmpty }

    /// Whether another batch will follow those that the pool works on.
    package var hasMore: Bool { !queue.isEmpty || filling?.isEmpty == false }

    /// Whether the pool has to go on, or to begin with what waits.
    package var hasWork: Bool { !queue.isEmpty || worker == .working(.results) || worker == .working(.work) }

    /// All batches that wait, in one hop: each costs two changes of thread. But what the pool has not come to yet is enough.
    package mutating func take() -> [Batch] {
        guard worker != .working(.work) else { return [] }
        defer { queue = [] }
        return queue
    }

    /// The pool is done with what it took, but for what is left.
    package mutating func worked(leaving left: Left = .nothing) {
        worker = .working(left)
        // What it waits for may still be being filled.
        if left == .results, queue.isEmpty { _ = handOverAll() }
    }

    /// Something has happened that the pool has waited for, with nothing else to do.
    ///
    /// - Returns: whether it has to begin.
    package mutating func resume() -> Bool {
        guard worker == .idle else { return false }
        worker = .working(.work)
        return true
    }

    /// The pool has found nothing more to do.
    package mutating func rest() {
        worker = .idle
    }
}
