import TransferModel

/// A server that cannot be reached: people are told once that it went and once that it is back, and it is tried with
/// pauses that grow.
struct Outage: Sendable {
    private let patience: Interval?
    private var backoff = Backoff(first: .milliseconds(250), longest: .seconds(15))
    private var began: MonotonicTime?
    /// When it was asked, as long as it has not answered.
    private var asked: MonotonicTime?

    /// Whether the server has ever answered.
    private(set) var hasConnected = false

    /// Before this nothing is tried.
    private(set) var nextTry: MonotonicTime?

    /// - Parameter seconds: for which it is tried; nothing for ever.
    init(retryFor seconds: Double?) {
        patience = seconds.map { .seconds($0) }
    }

    var isOn: Bool { began != nil }

    /// A push begins.
    mutating func asks(at now: MonotonicTime) {
        asked = now
    }

    /// A connection was lost, or none could be made.
    ///
    /// - Returns: whether that is new.
    mutating func lost(at now: MonotonicTime) -> Bool {
        guard began == nil else { return false }
        // A server that cannot be reached has taken its time already.
        began = asked ?? now
        return true
    }

    /// A whole push has failed for it.
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

    /// The server has answered.
    ///
    /// - Returns: for how long it had not, if people were told so.
    mutating func connected(at now: MonotonicTime) -> Interval? {
        hasConnected = true
        backoff.reset()
        (nextTry, asked) = (nil, nil)
        defer { began = nil }
        return began.map { now - $0 }
    }
}
