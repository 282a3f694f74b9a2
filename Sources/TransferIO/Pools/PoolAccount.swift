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

    /// Nanoseconds that its work took lately; a new one pays this in advance.
    var usual: Int64 = 0

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
        buffers = BufferAccount(isLimited: isLimited)
    }
}

/// Something for a thread of a pool to do.
enum PoolWork {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}
