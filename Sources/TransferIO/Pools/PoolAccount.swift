import Synchronization

/// A client's account of work. A pool shares its threads fairly between accounts, according to the time that each has
/// used.
///
/// `@unchecked Sendable`: only its pool accesses the contents, with the pool's lock held.
package final class PoolAccount: @unchecked Sendable {
    /// The client's share of buffers.
    package let buffers: BufferAccount

    /// Whether the account must leave threads to others.
    let isLimited: Bool

    var waiting = Queue<PoolWork>()

    /// Threads that work for the account now.
    var running = 0

    /// Position at which the account's next work starts in the queue's virtual time, in nanoseconds.
    var start: Int64 = 0

    /// Recent average cost of the account's work in nanoseconds. This much is charged in advance for new work.
    var usual: Int64 = 0

    /// Nanoseconds of work that the client's bytes have paid for and that were not used yet.
    var credit: Int64 = 0

    /// Recent averages in nanoseconds: duration and processor time of the account's work.
    var usualDuration: Int64 = 0
    var usualComputing: Int64 = 0

    /// Whether processors limit the account's work, so that more threads would not make it faster.
    var computes = false

    private let brought = Atomic<Int64>(0)

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
        buffers = BufferAccount(isLimited: isLimited)
    }

    /// Counts bytes that the client has sent. They become credit.
    package func bring(_ bytes: Int) {
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    /// Converts the bytes counted since the last call to credit.
    func takeCredit() {
        let bytes = min(brought.exchange(0, ordering: .relaxed), Self.mostCredit / Self.byteCredit)
        credit = min(credit + bytes * Self.byteCredit, Self.mostCredit)
    }

    /// Whether the account computes and its few bytes have not paid for the work that it requests. All such accounts
    /// together may have only as many threads as there are processors.
    var isCrowding: Bool { computes && credit < usualComputing }

    /// Nanoseconds of work that one received byte pays for: what storing it takes in files of some KiB.
    private static let byteCredit: Int64 = 16

    /// Most nanoseconds of credit, which 6 MiB of content pay for.
    private static let mostCredit: Int64 = 100_000_000
}

/// A task for a thread of a pool.
enum PoolWork {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}
