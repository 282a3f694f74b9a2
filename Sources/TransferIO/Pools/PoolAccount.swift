import Synchronization

/// Whose work it is: a pool shares its threads fairly between accounts, by the time that each has used.
///
/// `@unchecked Sendable`: what is in it is only touched by its pool, with the pool's lock held.
package final class PoolAccount: @unchecked Sendable {
    /// Its share of what else is scarce.
    package let buffers: BufferAccount

    /// Whether it may not have all threads at once.
    let isLimited: Bool

    var waiting = Queue<PoolWork>()

    /// Threads that work for it.
    var running = 0

    /// Where its next work begins in the virtual time of the pool's queue, in nanoseconds.
    var start: Int64 = 0

    /// Nanoseconds that it paid for its work lately; a new one pays this in advance.
    var usual: Int64 = 0

    /// Nanoseconds of work that the client's bytes have paid for and that are not used yet.
    var credit: Int64 = 0

    /// Nanoseconds that its work took lately, and those of them in which it had a processor.
    var usualDuration: Int64 = 0
    var usualComputing: Int64 = 0

    /// Whether its work waits for processors, and for little else: more threads would not make it faster.
    var computes = false

    private let brought = Atomic<Int64>(0)

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
        buffers = BufferAccount(isLimited: isLimited)
    }

    /// Counts bytes that the client has sent; they become credit.
    package func bring(_ bytes: Int) {
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    /// Turns the bytes that have been counted since the last call into credit.
    func takeCredit() {
        let bytes = min(brought.exchange(0, ordering: .relaxed), Self.mostCredit / Self.byteCredit)
        credit = min(credit + bytes * Self.byteCredit, Self.mostCredit)
    }

    /// Whether it may only have as many threads as there are processors, together with others like it. A few bytes that order much work
    /// do not pay for it.
    var isCrowding: Bool { computes && credit < usualComputing }

    /// Nanoseconds of work for each byte that was sent: as many as it takes to store files of some KiB.
    private static let byteCredit: Int64 = 16

    /// Nanoseconds that an account may have saved up: those of 6 MiB.
    private static let mostCredit: Int64 = 100_000_000
}

/// Something for a thread of a pool to do.
enum PoolWork {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}
