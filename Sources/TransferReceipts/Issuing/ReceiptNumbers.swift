import TransferSystem

/// Numbers for receipts: each is given once, and later ones are larger.
///
/// A server starts with the microseconds since 1970 and counts up from there. It would take more than a million receipts a
/// second to count faster than the clock, so the next start begins above all numbers that were given before. Where somebody
/// may have turned the clock back meanwhile, what was kept of the last start helps. Numbers stay below 2^53 until the year
/// 2255, so that every reader of JSON can hold them.
package final class ReceiptNumbers: Sendable {
    private struct State {
        var next: UInt64
        /// What was kept: all numbers given are below.
        var kept: UInt64 = 0
    }

    /// Numbers that are kept ahead of those given: a write to disk in a million is nothing, and a start that leaves so many
    /// out is behind the clock again after a second.
    static let step: UInt64 = 1 << 20

    private let state: Locked<State>
    private let keep: @Sendable (UInt64) -> Void

    /// - Parameters:
    ///   - first: the first number to give, unless the clock says a larger one: what was kept last.
    ///   - keep: makes sure that the next start finds the number; called under a lock, and at once.
    ///   - utc: the time in nanoseconds since 1970.
    package init(
        first: UInt64 = 0, keep: @escaping @Sendable (UInt64) -> Void = { _ in }, utc: () -> Int64 = utcNanoseconds
    ) {
        state = Locked(State(next: max(first, UInt64(max(0, utc() / 1_000)))))
        self.keep = keep
        _ = take(0)
    }

    /// - Returns: the first of that many numbers in a row.
    package func take(_ count: Int) -> UInt64 {
        state.withLock { state in
            defer { state.next &+= UInt64(count) }
            if state.next &+ UInt64(count) >= state.kept {
                state.kept = state.next &+ UInt64(count) &+ Self.step
                keep(state.kept)
            }
            return state.next
        }
    }
}
