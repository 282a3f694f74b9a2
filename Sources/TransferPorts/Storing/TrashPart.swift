package import TransferModel
import TransferSystem

/// The part of the trash that one connection puts things into: what it removes and what it replaces stands together there. Made when
/// something goes there. Safe to call from any thread.
package final class TrashPart: Sendable {
    private struct State {
        var batch: TrashBatch?
        /// When it was begun; UTC, in nanoseconds since 1970.
        var begun: Int64 = 0
        package var expectsReplacing = true
    }

    private let state = Locked(State())
    private let utc: @Sendable () -> Int64
    /// Called with the lock held.
    nonisolated(unsafe) private let makeBatch: (_ moment: Int64) -> TrashBatch

    /// Nanoseconds after which another part is begun: what is in one is as old as the part, and goes with it.
    package static let longest: Int64 = 3600 * 1_000_000_000

    /// - Parameters:
    ///   - utc: now, in nanoseconds since 1970.
    ///   - makeBatch: a new part of the trash; its moment is as `utc`. Called on any thread, by one at a time.
    package init(
        utc: @escaping @Sendable () -> Int64,
        makeBatch: @escaping (_ moment: Int64) -> TrashBatch = { .begun(at: $0) }
    ) {
        (self.utc, self.makeBatch) = (utc, makeBatch)
    }

    /// Whether the next uploads are likely to replace something: as the last ones did.
    package var expectsReplacing: Bool {
        get { state.withLock { $0.expectsReplacing } }
        set { state.withLock { $0.expectsReplacing = newValue } }
    }

    /// The part that something goes to now.
    package var current: TrashBatch {
        let now = utc()
        return state.withLock { state in
            let (age, overflow) = now.subtractingReportingOverflow(state.begun)
            if let batch = state.batch, !overflow, (0..<Self.longest).contains(age) { return batch }
            return begin(now, &state)
        }
    }

    /// Begins another part, unless that was done already.
    ///
    /// - Parameter batch: the one that does not do.
    /// - Returns: the part that something goes to now.
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
