package import TransferModel
internal import TransferSystem

/// The clocks and the randomness of an object store, so that tests need not wait.
package struct StoreClock: Sendable {
    /// The monotonic clock, for waits between attempts and for the budget of a call.
    var now: @Sendable () -> MonotonicTime
    /// The present time in UTC, for signatures and for the end of credentials.
    var utc: @Sendable () -> UTCTime
    /// Waits on the calling thread.
    var sleep: @Sendable (Interval) -> Void
    /// A random number from 0 to below 1.
    var random: @Sendable () -> Double

    /// The clocks and the random numbers of the system.
    package static let system = StoreClock(
        now: { .now }, utc: { .now },
        sleep: { interval in
            // A condition that no other thread knows only waits.
            let monitor = Monitor(())
            let deadline = monotonicDeadline(after: interval.nanoseconds)
            monitor.lock()
            while monitor.wait(until: deadline) {}
            monitor.unlock()
        },
        random: { .random(in: 0..<1) })
}

/// When a request is repeated.
package struct RetryPolicy: Sendable {
    /// The longest wait before the first repetition. It doubles with each one, and the real wait is random between zero
    /// and it ("full jitter", AWS Architecture Blog, "Exponential Backoff And Jitter"), so that many clients do not
    /// return together.
    package var base = Interval.milliseconds(100)

    /// Upper bound of the doubled wait.
    package var cap = Interval.seconds(5)

    /// The time for one call with all its repetitions, if the caller does not choose another one.
    package var budget = Interval.seconds(60)

    package init() {}

    /// The wait before a repetition.
    ///
    /// - Parameters:
    ///   - number: 0 for the first repetition.
    ///   - random: from 0 to below 1.
    ///   - asked: the wait that the engine has asked for; the real one is not shorter.
    func wait(before number: Int, random: Double, asked: Interval?) -> Interval {
        let doubled = Double(base.nanoseconds) * Double(1 << min(max(0, number), 30))
        let most = min(doubled, Double(cap.nanoseconds))
        let jitter = Interval(nanoseconds: Int64(exactly: (most * random).rounded(.down)) ?? 0)
        return max(jitter, asked ?? jitter)
    }
}

/// Tokens that repetitions cost, so that they do not multiply the load of an engine that is down: each success brings
/// back one token or what its repetitions have cost, and without tokens nothing is repeated. The numbers are those of
/// the AWS SDKs ("Retry behavior", standard mode).
final class RetryTokens: Sendable {
    static let most = 500
    static let cost = 5
    /// The cost of a repetition after a time-out or a cut connection.
    static let costOfSilence = 10

    private let left: Locked<Int>

    init(_ count: Int = RetryTokens.most) { left = Locked(count) }

    /// Pays for a repetition.
    ///
    /// - Returns: what was paid; nil if there are not enough tokens.
    func pay(forSilence isSilence: Bool) -> Int? {
        let cost = isSilence ? Self.costOfSilence : Self.cost
        return left.withLock { left in
            guard left >= cost else { return nil }
            left -= cost
            return cost
        }
    }

    /// Brings back tokens after a success.
    ///
    /// - Parameter paid: the cost of the latest repetition of this call; nil if there was none.
    func succeed(paid: Int?) {
        left.withLock { $0 = min(Self.most, $0 + (paid ?? 1)) }
    }
}
