import Glibc
import TransferSystem

/// Page-aligned memory of a fixed size that goes back to its pool when nobody holds it any more.
///
/// `@unchecked Sendable`: one owner at a time fills or reads it; handing it over is what passes the right to touch it.
package final class BlockBuffer: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer
    private let pool: BufferPool

    fileprivate init(bytes: UnsafeMutableRawBufferPointer, pool: BufferPool) {
        self.bytes = bytes
        self.pool = pool
    }

    deinit {
        pool.recycle(bytes)
    }
}

/// A bounded number of equal buffers, shared by all connections of a process: what caps its memory. Whoever finds none
/// left waits its turn and meanwhile doesn't read from its socket.
package final class BufferPool: Sendable {
    private struct State {
        // Only the pool touches these while they are free.
        nonisolated(unsafe) var free: [UnsafeMutableRawBufferPointer] = []
        var allocated = 0
        var waiters: [CheckedContinuation<BlockBuffer, Never>] = []
    }

    /// Bytes of each buffer.
    package let size: Int

    private let limit: Int
    private let state = Locked(State())

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

    /// Whether more than half of the buffers are in use.
    package var isScarce: Bool {
        state.withLock { 2 * ($0.allocated - $0.free.count) > limit }
    }

    /// Waits until a buffer is free.
    package func take() async -> BlockBuffer {
        if let buffer = takeNow() { return buffer }
        return await withCheckedContinuation { continuation in
            let free = state.withLock { state -> UnsafeMutableRawBufferPointer? in
                if let bytes = state.free.popLast() { return bytes }
                state.waiters.append(continuation)
                return nil
            }
            if let free { continuation.resume(returning: BlockBuffer(bytes: free, pool: self)) }
        }
    }

    /// A buffer, or nothing when all are in use.
    package func takeNow() -> BlockBuffer? {
        enum Found {
            case free(UnsafeMutableRawBufferPointer)
            case mayAllocate
            case none
        }
        nonisolated(unsafe) let found = state.withLock { state -> Found in
            if let bytes = state.free.popLast() { return .free(bytes) }
            guard state.allocated < limit else { return .none }
            state.allocated += 1
            return .mayAllocate
        }
        return switch found {
        case .free(let bytes): BlockBuffer(bytes: bytes, pool: self)
        case .mayAllocate: BlockBuffer(bytes: .allocate(byteCount: size, alignment: 4096), pool: self)
        case .none: nil
        }
    }

    fileprivate func recycle(_ bytes: UnsafeMutableRawBufferPointer) {
        let waiter = state.withLock { state -> CheckedContinuation<BlockBuffer, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.free.append(bytes)
            return nil
        }
        waiter?.resume(returning: BlockBuffer(bytes: bytes, pool: self))
    }
}
