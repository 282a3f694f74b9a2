import TransferPorts
import TransferSystem

/// Totals of stored and unfinished uploads. Counting takes longer the more there are, so it is done so seldom that it costs next to
/// nothing, however often the status is read.
final class StoreFigures: Sendable {
    struct Figures: Sendable {
        /// Nil if the catalog cannot be read.
        var catalog: [CatalogEntry.State: CatalogTotals]?
        /// Nil if the folder of parts cannot be read.
        var unfinished: UnfinishedContent?
    }

    private struct Latest {
        var figures = Figures()
        /// When to count again, in nanoseconds of the monotonic clock.
        var next: Int64 = .min
    }

    /// Before the next count, at least `interval` nanoseconds pass, and at least `patience` times as long as the last count took.
    private static let interval: Int64 = 1_000_000_000
    private static let patience: Int64 = 50

    private let latest = Locked(Latest())
    private let look: @Sendable () -> Figures

    /// - Parameter look: counts; may block.
    init(_ look: @escaping @Sendable () -> Figures) {
        self.look = look
    }

    /// - Parameter clock: returns nanoseconds of the monotonic clock.
    func present(_ clock: () -> Int64 = monotonicNanoseconds) -> Figures {
        latest.withLock { latest in
            let start = clock()
            guard start >= latest.next else { return latest.figures }
            latest.figures = look()
            let end = clock()
            let (pause, overflow) = max(0, end - start).multipliedReportingOverflow(by: Self.patience)
            let (next, late) = end.addingReportingOverflow(max(Self.interval, overflow ? .max : pause))
            latest.next = late ? .max : next
            return latest.figures
        }
    }
}
