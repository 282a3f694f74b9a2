import TransferModel

/// Decides when a watched directory is scanned.
struct ScanSchedule: Sendable {
    /// Whether the kernel does not report all changes: on a file system that other machines change too, or if there are
    /// too few watches.
    var isBlind = false

    private(set) var next: MonotonicTime?
    private var lastDuration = Interval(nanoseconds: 0)
    private var lastEnd: MonotonicTime?

    /// Time between scans if events show nearly all changes.
    static let usual = Interval.seconds(3600)

    /// Time between scans if `isBlind`, at least.
    static let blind = Interval.seconds(30)

    /// The pause after a scan as a multiple of the scan's duration, if `isBlind` or if the scan was incomplete. After
    /// lost events, the pause is as long as the scan.
    private static let share = 10.0

    init() {}

    /// Asks for a scan soon: events were lost, or the directory is another one.
    mutating func ask(at now: MonotonicTime) {
        let earliest = lastEnd.map { $0 + lastDuration } ?? now
        let wanted = max(now, earliest)
        next = next.map { min($0, wanted) } ?? wanted
    }

    /// Whether a scan is due.
    func isDue(_ now: MonotonicTime) -> Bool { next.map { $0 <= now } ?? false }

    /// Notes that a scan has ended.
    ///
    /// - Parameter isComplete: whether everything could be read.
    mutating func ended(began: MonotonicTime, at now: MonotonicTime, isComplete: Bool) {
        (lastDuration, lastEnd) = (now - began, now)
        let pause = isBlind || !isComplete ? max(Self.blind, .seconds(lastDuration.seconds * Self.share)) : Self.usual
        next = now + pause
    }

    /// Schedules no scan, because there is no directory.
    mutating func stop() {
        next = nil
    }
}
