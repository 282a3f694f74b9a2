package import TransferIO
import TransferModel

/// One end of a connection, on one loop for life, which says its last words and goes.
package protocol LingeringSession: Actor {
    /// Where the session lives.
    nonisolated var loop: EventLoop { get }

    var driver: ConnectionDriver { get }

    /// Whether something waits for the socket.
    var hasUnsent: Bool { get }

    /// Closes the socket.
    func close()
}

extension LingeringSession {
    /// How long the last words may take to leave.
    private static var longest: Interval { .seconds(2) }

    /// Bytes read at once to be dropped.
    private static var scratchSize: Int { 16 << 10 }

    /// Waits until the other end has taken the last words, and closes. Closing a socket with unread bytes resets the
    /// connection, and a reset can overtake what was sent last; so what still comes is read and dropped until the other end
    /// closes too.
    package func linger() async {
        guard !driver.isOver else { return }
        let deadline = loop.schedule(at: (MonotonicTime.now + Self.longest).nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.close() }
        }
        var hasEnded = false
        // Not from a pool: who lingers must not take the buffers of those that upload.
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.scratchSize, alignment: 64)
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
