import Glibc
import TransferSystem

/// Page-aligned memory of a fixed size that goes back to its pool when nobody holds it any more.
///
/// `@unchecked Sendable`: one owner at a time fills or reads it; handing it over is what passes the right to touch it.
package final class BlockBuffer: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer
    /// Nil for one of no pool, which is freed.
    private let place: (pool: BufferPool, account: BufferAccount)?

    fileprivate init(bytes: UnsafeMutableRawBufferPointer, pool: BufferPool, account: BufferAccount) {
        self.bytes = bytes
        place = (pool, account)
    }

    /// One of no pool.
    ///
    /// - Parameter size: bytes.
    package init(ownOf size: Int) {
        bytes = .allocate(byteCount: size, alignment: 16)
        place = nil
    }

    deinit {
        if let (pool, account) = place { pool.recycle(bytes, of: account) } else { bytes.deallocate() }
    }
}

/// A bounded number of equal buffers, shared by all connections of a process: what caps its memory. Whoever finds none
/// left waits its turn and meanwhile doesn't read from its socket.
///
/// Who takes them for several clients gives each an account. An account has no more buffers than it leaves, the last eighth is for
/// accounts that have none, and accounts that wait take turns.
package final class BufferPool: Sendable {
    private struct State {
        // Only the pool touches these while they are free.
        nonisolated(unsafe) var free: [UnsafeMutableRawBufferPointer] = []
        var used = 0
        /// Accounts that somebody waits for, in turn.
        var waiting: [BufferAccount] = []
    }

    /// Bytes of each buffer.
    package let size: Int

    private let limit: Int
    private let state = Locked(State())
    private let own = BufferAccount(isLimited: false)

    /// - Parameters:
    ///   - size: bytes of each buffer, a multiple of 4,096.
    ///   - count: how many there may be; allocated when first needed.
    package init(size: Int, count: Int) {
        self.size = size
        limit = max(1, count)
    }

    deinit {
        state.withLock { state in
            for bytes in state.free { bytes.deallocate() }
        }
    }

    /// Buffers that somebody has.
    package var used: Int { state.withLock { $0.used } }

    /// Whether more than half of the buffers are in use, or the account has most of those that it may have: three eighths
    /// of all.
    package func isScarce(for account: BufferAccount? = nil) -> Bool {
        state.withLock { 2 * $0.used > limit || account.map { 8 * $0.held > 3 * limit } ?? false }
    }

    /// Waits until there is a buffer for the account; the pool's own where there is none.
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

    /// A buffer, or nothing when there is none for the account.
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

    /// For an account that one was counted for.
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

    /// Those who have waited and may have one now.
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
