import Synchronization

/// A client's account of work: a pool shares its threads fairly between accounts by the time that each has used.
///
/// `@unchecked Sendable`: only its pool accesses the contents, with the pool's lock held.
package final class PoolAccount: @unchecked Sendable {
    /// The client's share of buffers.
    package let buffers: BufferAccount

    /// Whether it must leave threads to others.
    let isLimited: Bool

    var waiting = Queue<PoolWork>()

    /// Threads that work for the account now.
    var running = 0

    /// Position of the next work in the queue's virtual time, in nanoseconds.
    var start: Int64 = 0

    /// Recent average cost of the account's work in nanoseconds; new work is charged so much in advance.
    var usual: Int64 = 0

    /// Nanoseconds of work that the client's bytes have paid for and that are unused.
    var credit: Int64 = 0

    /// Recent averages in nanoseconds: duration and processor time of the account's work.
    var usualDuration: Int64 = 0
    var usualComputing: Int64 = 0

    /// Whether the work is limited by processors, so that more threads would not make it faster.
    var computes = false

    private let brought = Atomic<Int64>(0)

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
        buffers = BufferAccount(isLimited: isLimited)
    }

    /// Counts bytes from the client, which become credit.
    package func bring(_ bytes: Int) {
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    /// Converts the bytes counted since the last call to credit.
    func takeCredit() {
        let bytes = min(brought.exchange(0, ordering: .relaxed), Self.mostCredit / Self.byteCredit)
        credit = min(credit + bytes * Self.byteCredit, Self.mostCredit)
    }

    /// Whether it and accounts like it together may have only as many threads as there are processors: its few bytes
    /// have not paid for the work that it requests.
    var isCrowding: Bool { computes && credit < usualComputing }

    /// Nanoseconds of work for each received byte: the time in which files of some KiB are stored.
    private static let byteCredit: Int64 = 16

    /// Most nanoseconds of credit, for 6 MiB.
    private static let mostCredit: Int64 = 100_000_000
}

/// A task for a thread of a pool.
enum PoolWork {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}
