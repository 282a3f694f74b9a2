import TransferIO
package import TransferModel

extension DrivenSession {
    /// Waits until the other end has taken the last words, and closes. Closing a socket with unread bytes resets the
    /// connection, and a reset can overtake what was sent last; so what still comes is read and dropped until the other end
    /// closes too.
    ///
    /// - Parameters:
    ///   - longest: how long the last words may take to leave.
    ///   - size: bytes read at once to be dropped.
    package func linger(atMost longest: Interval, dropping size: Int) async {
        guard !driver.isOver else { return }
        let deadline = loop.schedule(at: (MonotonicTime.now + longest).nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.close() }
        }
        var hasEnded = false
        // Not from a pool: who lingers must not take the buffers of those that upload.
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { scratch.deallocate() }
        while !driver.isOver {
            if !hasUnsent, !hasEnded {
                driver.socket?.endSending()
                hasEnded = true
            }
            do throws(StreamError) {
                switch try driver.socket?.discard(into: scratch) ?? .end {
                case .bytes(let count): await driver.letOthers(after: count)
                case .wouldBlock: await driver.wake.wait()
                case .end: if hasEnded { close() } else { await driver.wake.wait() }
                }
            } catch {
                close()
            }
        }
        loop.cancel(deadline)
    }
}
