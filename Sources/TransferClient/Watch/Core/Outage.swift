import TransferModel

/// Tracks whether the server can be reached: people learn once that it was lost and once that it is back, and attempts
/// have growing pauses.
struct Outage: Sendable {
    private let patience: Interval?
    private var backoff = Backoff(first: .milliseconds(250), longest: .seconds(15))
    private var began: MonotonicTime?
    /// When the latest push began; nil once the server has answered.
    private var asked: MonotonicTime?

    /// Whether the server has ever answered.
    private(set) var hasConnected = false

    /// No push may begin before this time; nil for no bound.
    private(set) var nextTry: MonotonicTime?

    /// - Parameter seconds: how long the server is tried again; nil for no bound.
    init(retryFor seconds: Double?) {
        patience = seconds.map { .seconds($0) }
    }

    var isOn: Bool { began != nil }

    /// Notes that a push begins.
    mutating func asks(at now: MonotonicTime) {
        asked = now
    }

    /// Notes that a connection was lost, or could not be made.
    ///
    /// - Returns: whether this begins an outage.
    mutating func lost(at now: MonotonicTime) -> Bool {
        guard began == nil else { return false }
        // The outage began with the attempt, which has taken time already.
        began = asked ?? now
        return true
    }

    /// Notes that a push has failed because of the outage.
    ///
    /// - Returns: whether it is tried again.
    mutating func failed(at now: MonotonicTime, using generator: inout some RandomNumberGenerator) -> Bool {
        let began = began ?? asked ?? now
        self.began = began
        let pause = backoff.next(using: &generator)
        if let patience, now + pause >= began + patience { return false }
        nextTry = now + pause
        return true
    }

    /// Notes that the server has answered.
    ///
    /// - Returns: how long the outage was; nil if there was none.
    mutating func connected(at now: MonotonicTime) -> Interval? {
        hasConnected = true
        backoff.reset()
        (nextTry, asked) = (nil, nil)
        defer { began = nil }
        return began.map { now - $0 }
    }
}
