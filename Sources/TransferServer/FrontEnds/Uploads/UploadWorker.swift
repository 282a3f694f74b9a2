import Synchronization
package import TransferAccess
package import TransferConnection
import TransferIO
package import TransferIntake
package import TransferModel

/// The pool's side of one connection, whatever is spoken on it: takes batches of steps in order, has them performed for as long as
/// its turn lasts, and publishes the uploads that they complete together, so that they share their syncs. What a step does is up to
/// the `StepPerformer` of the wire.
///
/// The session calls `process` with what it has received, and again for as long as the outcome says that there is more to do:
///
/// ```
///   process ──► recheck access ──► step, step, … ──► publish ──► acknowledge ──► outcome for the client
///      ▲                                 │ the turn is over          │ receipts wait for the next batch
///      └─────────────────────────────────┴───────────────────────────┘
///   cancel, when the connection has ended: acknowledges what is published and gives up the rest
///
///   Access is rechecked where a batch begins something; HTTP asks with each request instead.
/// ```
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads are ever in it.
package final class UploadWorker<Performer: StepPerformer>: @unchecked Sendable {
    /// What is done for each step.
    package let steps: Performer

    /// Whether the session has more for this worker already; set on its loop.
    private let hasMore = Atomic(false)

    private var queue = StepQueue<Performer.Batch>()

    package init(_ steps: Performer) { self.steps = steps }

    /// To be told whenever that changes: whether another batch will follow the one that the worker works on. Called on the session's
    /// loop.
    func expectMore(_ isExpected: Bool) { hasMore.store(isExpected, ordering: .releasing) }

    /// What becomes of the client's uploads.
    package var uploads: ConnectionUploads { steps.uploads }

    package var intake: IntakeSession { uploads.intake }

    /// Whether an upload in parts of this connection, or of another one of its push, is under way. Not to be asked while a
    /// thread is in the worker.
    var hasUnfinished: Bool { intake.hasUnfinished }

    /// Works on batches until all is done or others have to have their turn. What is left is worked on by the next call.
    package func process(_ batches: [Performer.Batch]) -> Performer.Outcome {
        for batch in batches { queue.append(batch) }
        var refusal: Refusal?
        if queue.hasBeginnings || uploads.mustRecheck {
            let recheck = uploads.recheck()
            refusal = recheck.refusal
            steps.settled(recheck.settled)
        }
        work()
        let isBusy = steps.isAnswering || !queue.isEmpty
        // What is complete is made durable at once for all of it, and does not wait for an answer that takes long.
        if queue.isEmpty || steps.isAnswering { steps.settled(uploads.publish()) }
        let moreFollows = isBusy || hasMore.load(ordering: .acquiring)
        if !moreFollows || !uploads.mayAcknowledgeLater { acknowledge() }
        let outcome = steps.endTurn(
            leaving: isBusy ? .work : intake.pipeline.isWaiting ? .results : .nothing, refusal: refusal)
        uploads.endTurn()
        return outcome
    }

    private func work() {
        let turn = Turn(on: uploads.resources.pool)
        while steps.hasRoom, !turn.isOver {
            if steps.isOver { dropSteps() }
            if steps.isAnswering {
                steps.goOnAnswering()
            } else if !queue.takeNext({ step, content in steps.perform(step, content) }) {
                return
            }
        }
        // Nobody calls again for these: behind a last answer their buffers would be kept for as long as the client likes.
        if steps.isOver { dropSteps() }
    }

    private func acknowledge() {
        for (settled, signedBatch) in uploads.acknowledge() {
            steps.settled(settled)
            if let signedBatch { steps.signed(signedBatch) }
        }
    }

    /// Performs none of the steps that wait.
    func dropSteps() { queue.removeAll() }

    /// The connection ended: what is not complete will not be.
    ///
    /// - Returns: what had its end.
    @discardableResult package func cancel() -> Performer.Outcome {
        dropSteps()
        steps.connectionEnded()
        acknowledge()
        let outcome = steps.endTurn(leaving: .nothing, refusal: nil)
        uploads.endTurn()
        uploads.leave()
        return outcome
    }
}

/// What the steps of one wire do: each becomes calls of `ConnectionUploads`, and results become what the client is to get.
///
/// Used by one thread at a time: the worker calls `perform` for each step, `goOnAnswering` while there is an answer that the next
/// step has to wait for, and `endTurn` when the turn is over.
package protocol StepPerformer: AnyObject {
    associatedtype Batch: StepBatch

    /// What came of a turn.
    associatedtype Outcome

    var uploads: ConnectionUploads { get }

    /// Whether an answer is being made that comes before the next step.
    var isAnswering: Bool { get }

    /// Whether more answers fit into the outcome of this turn.
    var hasRoom: Bool { get }

    /// Whether no further step is performed on this connection, or none behind the answer that is being made.
    var isOver: Bool { get }

    /// - Parameter content: that came with the step, if any.
    func perform(_ step: Batch.Operation, _ content: UnsafeRawBufferPointer)

    /// Makes the next piece of the answer: as much as can be done while others wait.
    func goOnAnswering()

    /// An upload has its result.
    func settled(_ upload: EndedUpload)

    /// The receipts of the uploads that were settled last have this signature.
    func signed(_ batch: SignedBatch)

    /// The turn is over.
    ///
    /// - Parameters:
    ///   - left: what the worker has left to do of what it has already.
    ///   - refusal: why the client may begin nothing any more.
    func endTurn(leaving left: BatchPipe<Batch>.Left, refusal: Refusal?) -> Outcome

    /// The connection ended, and the client waits for no answer any more.
    func connectionEnded()
}

extension StepPerformer {
    /// - Parameter upload: nil if none has its result.
    func settled(_ upload: EndedUpload?) {
        if let upload { settled(upload) }
    }

    func settled(_ uploads: [EndedUpload]) {
        for upload in uploads { settled(upload) }
    }
}

/// A batch with steps that a `StepPerformer` performs.
package protocol StepBatch: PipedBatch {
    associatedtype Operation

    var operations: [Operation] { get }

    /// Whether it has a step that the client's access is to be rechecked for: more than content of what has begun before.
    var hasBeginnings: Bool { get }

    /// Where the content of a step lies in the buffer; nil for a step without content there.
    static func content(of operation: Operation) -> Range<Int>?
}

/// Steps that a worker was given and has not performed, in order.
private struct StepQueue<Batch: StepBatch> {
    private struct Waiting {
        let steps: [Batch.Operation]
        let hasBeginnings: Bool
        /// Keeps the receive buffer.
        var batch: Batch?
        /// The last step with content in the buffer. Behind it the buffer is given back: a client that takes no answers must not
        /// hold buffers with the requests that wait behind them.
        let lastContent: Int
    }

    private var batches: [Waiting] = []
    private var nextStep = 0

    var isEmpty: Bool { batches.isEmpty }

    var hasBeginnings: Bool { batches.contains(where: \.hasBeginnings) }

    mutating func append(_ batch: Batch) {
        let steps = batch.operations
        guard !steps.isEmpty else { return }
        let lastContent = steps.lastIndex { Batch.content(of: $0) != nil }
        batches.append(
            Waiting(
                steps: steps, hasBeginnings: batch.hasBeginnings, batch: lastContent == nil ? nil : batch,
                lastContent: lastContent ?? 0))
    }

    mutating func removeAll() {
        batches.removeAll()
        nextStep = 0
    }

    /// Takes the next step out of the queue.
    ///
    /// - Parameter body: gets the step and its content.
    /// - Returns: whether there was one.
    mutating func takeNext(_ body: (Batch.Operation, UnsafeRawBufferPointer) -> Void) -> Bool {
        guard let waiting = batches.first else { return false }
        let step = waiting.steps[nextStep]
        if nextStep == waiting.lastContent { batches[0].batch = nil }
        nextStep += 1
        if nextStep == waiting.steps.count {
            batches.removeFirst()
            nextStep = 0
        }
        let content = Batch.content(of: step).flatMap { waiting.batch?.input.bytes($0) }
        withExtendedLifetime(waiting.batch) { body(step, content ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
        return true
    }
}
