import TransferSystem

/// Issues numbers for receipts: each once, and in increasing order.
///
/// A server starts with the microseconds since 1970 and counts up. Counting faster than the clock would need more than
/// a million receipts a second, so that the next start begins above all issued numbers. If the clock was turned back
/// meanwhile, the stored number helps. Numbers stay below 2^53 until the year 2255, so that every JSON reader can hold
/// them.
package final class ReceiptNumbers: Sendable {
    private struct State {
        var next: UInt64
        /// The stored number; all issued numbers are below it.
        var kept: UInt64 = 0
    }

    /// Distance by which the stored number is ahead: one write for a million numbers costs almost nothing, and a start
    /// that skips a million numbers is behind the clock again after a second.
    static let step: UInt64 = 1 << 20

    private let state: Locked<State>
    private let keep: @Sendable (UInt64) -> Void

    /// - Parameters:
    ///   - first: the stored number; the first issued number is at least this one, and at least that of the clock.
    ///   - keep: stores the number for the next start; called at once, under a lock.
    ///   - utc: returns the time in nanoseconds since 1970.
    package init(
        first: UInt64 = 0, keep: @escaping @Sendable (UInt64) -> Void = { _ in }, utc: () -> Int64 = utcNanoseconds
    ) {
        state = Locked(State(next: max(first, UInt64(max(0, utc() / 1_000)))))
        self.keep = keep
        _ = take(0)
    }

    /// - Returns: the first of `count` consecutive numbers.
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
