import TransferIO
import TransferSystem

/// A worker's time on a thread for one client, until other clients have their turn.
struct Turn {
    /// Longest turn in nanoseconds while other clients wait: many times the cost of changing threads, and too short for people to notice.
    static let longest: Int64 = 4_000_000

    private let pool: BlockingPool
    private let began = monotonicNanoseconds()

    init(on pool: BlockingPool) {
        self.pool = pool
    }

    var isOver: Bool { pool.isContended && monotonicNanoseconds() - began >= Self.longest }
}
