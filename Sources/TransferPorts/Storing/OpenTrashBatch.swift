package import TransferModel
import TransferSystem

/// The trash batch of one connection, for all that it removes and replaces. The batch is made when it first receives something. Safe
/// to call from any thread.
package final class OpenTrashBatch: Sendable {
    private struct State {
        var batch: TrashBatch?
        /// When the batch was begun; UTC, in nanoseconds since 1970.
        var begun: Int64 = 0
        package var expectsReplacing = true
    }

    private let state = Locked(State())
    private let utc: @Sendable () -> Int64
    /// Called with the lock held.
    nonisolated(unsafe) private let makeBatch: (_ moment: Int64) -> TrashBatch

    /// Nanoseconds after which a new batch is begun. Everything in a batch has the age of the batch, and is removed
    /// with it.
    package static let longest: Int64 = 3600 * 1_000_000_000

    /// - Parameters:
    ///   - utc: the current time, in nanoseconds since 1970.
    ///   - makeBatch: makes a new trash batch; `moment` is the current time. Called on any thread, but only on
    ///     one at a time.
    package init(
        utc: @escaping @Sendable () -> Int64,
        makeBatch: @escaping (_ moment: Int64) -> TrashBatch = { .begun(at: $0) }
    ) {
        (self.utc, self.makeBatch) = (utc, makeBatch)
    }

    /// Whether the next uploads will probably replace something, as the last ones did.
    package var expectsReplacing: Bool {
        get { state.withLock { $0.expectsReplacing } }
        set { state.withLock { $0.expectsReplacing = newValue } }
    }

    /// The part that receives removed and replaced files now.
    package var current: TrashBatch {
        let now = utc()
        return state.withLock { state in
            let (age, overflow) = now.subtractingReportingOverflow(state.begun)
            if let batch = state.batch, !overflow, (0..<Self.longest).contains(age) { return batch }
            return begin(now, &state)
        }
    }

    /// Begins another part, unless another thread has done so already.
    ///
    /// - Parameter batch: the part that cannot be used.
    /// - Returns: the part that receives removed and replaced files now.
    @discardableResult
    package func renew(behind batch: TrashBatch) -> TrashBatch {
        let now = utc()
        return state.withLock { state in
            if let current = state.batch, current != batch { return current }
            return begin(now, &state)
        }
    }

    private func begin(_ now: Int64, _ state: inout State) -> TrashBatch {
        let batch = makeBatch(now)
        state = State(batch: batch, begun: now)
        return batch
    }
}
