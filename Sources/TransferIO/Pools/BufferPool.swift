import Glibc
import TransferSystem

/// Page-aligned memory of a fixed size that returns to its pool when it is released.
///
/// `@unchecked Sendable`: one owner at a time uses the buffer, and handing it over passes the right to use it.
package final class BlockBuffer: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer
    /// The pool and the account; nil for a buffer that belongs to no pool and is freed when it is released.
    private let place: (pool: BufferPool, account: BufferAccount)?

    fileprivate init(bytes: UnsafeMutableRawBufferPointer, pool: BufferPool, account: BufferAccount) {
        self.bytes = bytes
        place = (pool, account)
    }

    /// Allocates a buffer that belongs to no pool.
    ///
    /// - Parameter size: size in bytes.
    package init(ownOf size: Int) {
        bytes = .allocate(byteCount: size, alignment: 16)
        place = nil
    }

    deinit {
        if let (pool, account) = place { pool.recycle(bytes, of: account) } else { bytes.deallocate() }
    }
}

/// A bounded number of buffers of one size for all connections, which limits the memory of the process. A connection
/// without a buffer waits for its turn and doesn't read from its socket meanwhile.
///
/// A caller that works for several clients gives each client an account. An account never holds more buffers than
/// remain free, the last eighth is reserved for accounts that hold none, and waiting accounts take turns.
package final class BufferPool: Sendable {
    private struct State {
        // Only the pool uses these buffers while they are free.
        nonisolated(unsafe) var free: [UnsafeMutableRawBufferPointer] = []
        var used = 0
        /// Accounts with waiting tasks, in turn.
        var waiting: [BufferAccount] = []
    }

    /// Size of each buffer in bytes.
    package let size: Int

    private let limit: Int
    private let state = Locked(State())
    private let own = BufferAccount(isLimited: false)

    /// - Parameters:
    ///   - size: size of each buffer in bytes, a multiple of 4,096.
    ///   - count: most buffers. Each is allocated when it is first needed.
    package init(size: Int, count: Int) {
        self.size = size
        limit = max(1, count)
    }

    deinit {
        state.withLock { state in
            for bytes in state.free { bytes.deallocate() }
        }
    }

    /// Number of buffers in use.
    package var used: Int { state.withLock { $0.used } }

    /// Whether more than half of the buffers are in use, or the account holds more than three eighths of all buffers,
    /// which is most of the share that it may have.
    package func isScarce(for account: BufferAccount? = nil) -> Bool {
        state.withLock { 2 * $0.used > limit || account.map { 8 * $0.held > 3 * limit } ?? false }
    }

    /// Waits for a buffer and takes it. Without an account, the pool's own account pays.
    package func take(for account: BufferAccount? = nil) async -> BlockBuffer {
        let account = account ?? own
        if let buffer = takeNow(for: account) { return buffer }
        return await withCheckedContinuation { continuation in
            let isTaken = state.withLock { state in
                if account.waiters.isEmpty, mayTake(account, state) {
                    take(for: account, &state)
                    return true
                }
                if account.waiters.isEmpty { state.waiting.append(account) }
                account.waiters.append(continuation)
                return false
            }
            if isTaken { continuation.resume(returning: buffer(for: account)) }
        }
    }

    /// Takes a buffer without waiting; returns nil if the account can have none now.
    package func takeNow(for account: BufferAccount? = nil) -> BlockBuffer? {
        let account = account ?? own
        let isTaken = state.withLock { state in
            guard mayTake(account, state) else { return false }
            take(for: account, &state)
            return true
        }
        return isTaken ? buffer(for: account) : nil
    }

    private func mayTake(_ account: BufferAccount, _ state: State) -> Bool {
        guard state.used < limit else { return false }
        guard account.isLimited, account.held > 0 else { return true }
        return account.held < limit - state.used - 1 && state.used < limit - limit / 8
    }

    private func take(for account: BufferAccount, _ state: inout State) {
        state.used += 1
        account.held += 1
    }

    /// Makes the buffer for which an account was charged.
    private func buffer(for account: BufferAccount) -> BlockBuffer {
        nonisolated(unsafe) let free = state.withLock { $0.free.popLast() }
        return BlockBuffer(
            bytes: free ?? .allocate(byteCount: size, alignment: 4096), pool: self, account: account)
    }

    fileprivate func recycle(_ bytes: UnsafeMutableRawBufferPointer, of account: BufferAccount) {
        let next = state.withLock { state in
            state.free.append(bytes)
            state.used -= 1
            account.held -= 1
            return takeWaiting(&state)
        }
        for (continuation, account) in next { continuation.resume(returning: buffer(for: account)) }
    }

    /// Waiting tasks that may have a buffer now. Their accounts are charged.
    private func takeWaiting(_ state: inout State) -> [(CheckedContinuation<BlockBuffer, Never>, BufferAccount)] {
        var next: [(CheckedContinuation<BlockBuffer, Never>, BufferAccount)] = []
        while let index = state.waiting.firstIndex(where: { mayTake($0, state) }) {
            let account = state.waiting.remove(at: index)
            guard let continuation = account.waiters.popFirst() else { continue }
            take(for: account, &state)
            next.append((continuation, account))
            if !account.waiters.isEmpty { state.waiting.append(account) }
        }
        return next
    }
}
