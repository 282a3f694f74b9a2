import TransferIO
import TransferSystem

/// A thread's work for one client, until others have to have their turn.
struct Turn {
    /// Nanoseconds that it may last while others wait: many times what a change of thread costs, and little of what anybody
    /// notices.
    static let longest: Int64 = 4_000_000

    private let pool: BlockingPool
    private let began = monotonicNanoseconds()

    init(on pool: BlockingPool) {
        self.pool = pool
    }

    var isOver: Bool { pool.isContended && monotonicNanoseconds() - began >= Self.longest }
}
