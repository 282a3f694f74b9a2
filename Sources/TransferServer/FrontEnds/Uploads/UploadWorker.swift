import Synchronization
package import TransferAccess
package import TransferConnection
import TransferIO
package import TransferIntake
package import TransferModel

/// The pool's side of one connection, on any wire: takes batches of steps in order, has them performed for as long as the turn lasts, and
/// publishes the uploads that they complete together, so that they share their syncs. The `StepPerformer` of the wire performs the steps.
///
/// The session calls `process` with what it has received, and again while the outcome says that work is left:
///
/// ```
///   process ──► recheck access ──► step, step, … ──► publish ──► acknowledge ──► outcome for the client
///      ▲                                 │ the turn is over          │ receipts wait for the next batch
///      └─────────────────────────────────┴───────────────────────────┘
///   cancel, when the connection has ended: acknowledges what is published and gives up the rest
///
///   Access is rechecked if a batch begins something; HTTP checks each request instead.
/// ```
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads use it at once.
package final class UploadWorker<Performer: StepPerformer>: @unchecked Sendable {
    /// Performs the steps of this wire.
    package let steps: Performer

    /// Whether the session has another batch for this worker already; set on its loop.
    private let hasMore = Atomic(false)

    private var queue = StepQueue<Performer.Batch>()

    package init(_ steps: Performer) { self.steps = steps }

    /// Notes whether another batch will follow the current one. To be called on the session's loop whenever that changes.
    func expectMore(_ isExpected: Bool) { hasMore.store(isExpected, ordering: .releasing) }

    /// The uploads of the client's connection.
    package var uploads: ConnectionUploads { steps.uploads }

    package var intake: IntakeSession { uploads.intake }

    /// Whether a multipart upload of this connection, or of another lane of the same push, is under way. Not to be called while a thread
    /// uses the worker.
    var hasUnfinished: Bool { intake.hasUnfinished }

    /// Works on batches until all is done or other clients must have their turn. The next call continues with the rest.
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
        let hasMore = hasMore.load(ordering: .acquiring)
        // Complete uploads are made durable together, and do not wait for an answer that takes long.
        let gathers = hasMore && !isBusy && intake.pipeline.canGather
        if !gathers, queue.isEmpty || steps.isAnswering { steps.settled(uploads.publish()) }
        let moreFollows = isBusy || hasMore
        if !moreFollows || !uploads.mayAcknowledgeLater { acknowledge() }
        let outcome = steps.endTurn(
            leaving: isBusy ? .work : gathers || intake.pipeline.isWaiting ? .results : .nothing, refusal: refusal)
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
        // Steps after a last answer are dropped here, because no later call drops them: their buffers would be kept until the client
        // closes.
        if steps.isOver { dropSteps() }
    }

    private func acknowledge() {
        for (settled, signedBatch) in uploads.acknowledge() {
            steps.settled(settled)
            if let signedBatch { steps.signed(signedBatch) }
        }
    }

    /// Drops the steps that wait.
    func dropSteps() { queue.removeAll() }

    /// Settles the uploads of a connection that has ended; incomplete ones are given up.
    ///
    /// - Returns: what was settled.
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

/// Performs the steps of one wire: each step becomes calls of `ConnectionUploads`, and results become bytes for the client.
///
/// Used by one thread at a time: the worker calls `perform` for each step, `goOnAnswering` while the next step has to wait for an answer,
/// and `endTurn` when the turn is over.
package protocol StepPerformer: AnyObject {
    associatedtype Batch: StepBatch

    /// What the session receives after a turn.
    associatedtype Outcome

    var uploads: ConnectionUploads { get }

    /// Whether an answer is being made that precedes the next step.
    var isAnswering: Bool { get }

    /// Whether more answers fit into the outcome of this turn.
    var hasRoom: Bool { get }

    /// Whether no further step is performed on this connection; at most, an answer that is already being made continues.
    var isOver: Bool { get }

    /// - Parameter content: the content of the step; empty if it has none.
    func perform(_ step: Batch.Operation, _ content: UnsafeRawBufferPointer)

    /// Makes the next piece of the answer, small enough that other clients need not wait long.
    func goOnAnswering()

    /// Takes the result of an upload.
    func settled(_ upload: EndedUpload)

    /// Takes the signature for the receipts of the uploads that were settled last.
    func signed(_ batch: SignedBatch)

    /// Ends the turn.
    ///
    /// - Parameters:
    ///   - left: what the worker still has to do with the batches that it has received.
    ///   - refusal: why the client may begin nothing any more; nil if it may.
    func endTurn(leaving left: BatchPipe<Batch>.Left, refusal: Refusal?) -> Outcome

    /// Notes that the connection has ended, so that no answer is needed any more.
    func connectionEnded()
}

extension StepPerformer {
    /// - Parameter upload: nil if no upload was settled.
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

    /// Whether the batch has a step before which the client's access is to be rechecked: one that begins or asks for something, rather than
    /// continuing an upload.
    var hasBeginnings: Bool { get }

    /// Range of the step's content in the buffer; nil for a step without content there.
    static func content(of operation: Operation) -> Range<Int>?
}

/// The steps that a worker has received and not yet performed, in order.
private struct StepQueue<Batch: StepBatch> {
    private struct Waiting {
        let steps: [Batch.Operation]
        let hasBeginnings: Bool
        /// Keeps the receive buffer while steps may need content from it.
        var batch: Batch?
        /// Index of the last step with content in the buffer. After it the buffer is given back: a client that takes no answers must not
        /// hold buffers with the requests that follow.
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

    /// Removes the next step from the queue.
    ///
    /// - Parameter body: gets the step and its content.
    /// - Returns: whether there was a step.
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
