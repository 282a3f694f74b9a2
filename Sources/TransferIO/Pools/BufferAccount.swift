/// Whose buffers these are: a pool shares them between accounts.
///
/// `@unchecked Sendable`: what is in it is only touched by its pool, with the pool's lock held. It is one pool's.
package final class BufferAccount: @unchecked Sendable {
    /// Whether it has to leave as many as it has.
    let isLimited: Bool

    /// Buffers that somebody has for it.
    var held = 0

    /// Those who wait for one, none of which was there.
    var waiters = Queue<CheckedContinuation<BlockBuffer, Never>>()

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
    }
}
