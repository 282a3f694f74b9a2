import TransferModel

/// When a watched directory is looked through.
struct ScanSchedule: Sendable {
    /// Whether the kernel does not tell of all changes: on a file system that others change too, or with too few
    /// watches.
    var isBlind = false

    private(set) var next: MonotonicTime?
    private var lastDuration = Interval(nanoseconds: 0)
    private var lastEnd: MonotonicTime?

    /// Where events tell of everything, against what nobody has thought of.
    static let usual = Interval.seconds(3600)

    /// Where they don't.
    static let blind = Interval.seconds(30)

    /// A scan takes a tenth of the time at most where they don't, and half of it where events are lost.
    private static let share = 10.0

    init() {}

    /// Asks for one at once: events were lost, or the directory is another.
    mutating func ask(at now: MonotonicTime) {
        let earliest = lastEnd.map { $0 + lastDuration } ?? now
        let wanted = max(now, earliest)
        next = next.map { min($0, wanted) } ?? wanted
    }

    /// Whether one is due.
    func isDue(_ now: MonotonicTime) -> Bool { next.map { $0 <= now } ?? false }

    /// One has ended.
    ///
    /// - Parameter isComplete: whether it went through everything.
    mutating func ended(began: MonotonicTime, at now: MonotonicTime, isComplete: Bool) {
        (lastDuration, lastEnd) = (now - began, now)
        let pause = isBlind || !isComplete ? max(Self.blind, .seconds(lastDuration.seconds * Self.share)) : Self.usual
        next = now + pause
    }

    /// There is nothing to look through.
    mutating func stop() {
        next = nil
    }
}
