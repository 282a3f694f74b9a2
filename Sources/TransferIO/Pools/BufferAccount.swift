/// A client's account of buffers. A pool shares its buffers between accounts.
///
/// `@unchecked Sendable`: only the account's one pool accesses the contents, with the pool's lock held.
package final class BufferAccount: @unchecked Sendable {
    /// Whether the account must leave as many buffers free as it holds.
    let isLimited: Bool

    /// Buffers that the account holds.
    var held = 0

    /// Tasks that wait for a buffer.
    var waiters = Queue<CheckedContinuation<BlockBuffer, Never>>()

    package convenience init() {
        self.init(isLimited: true)
    }

    init(isLimited: Bool) {
        self.isLimited = isLimited
    }
}
