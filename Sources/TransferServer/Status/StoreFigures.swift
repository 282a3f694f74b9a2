import TransferPorts
import TransferSystem

/// What is known of stored and unfinished uploads. To find out takes the longer the more there are, so it is looked at so
/// seldom that it costs the server next to nothing, however often somebody asks.
final class StoreFigures: Sendable {
    struct Figures: Sendable {
        /// Nothing when the catalog cannot be read.
        var catalog: [CatalogEntry.State: CatalogTotals]?
        /// Nothing when the folder of parts cannot be read.
        var unfinished: UnfinishedContent?
    }

    private struct Latest {
        var figures = Figures()
        /// When to look again, in nanoseconds of the monotonic clock.
        var next: Int64 = .min
    }

    /// Nanoseconds between two looks at least, and how many times as long as a look took.
    private static let interval: Int64 = 1_000_000_000
    private static let patience: Int64 = 50

    private let latest = Locked(Latest())
    private let look: @Sendable () -> Figures

    /// - Parameter look: finds them out; may block.
    init(_ look: @escaping @Sendable () -> Figures) {
        self.look = look
    }

    /// - Parameter clock: nanoseconds.
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
