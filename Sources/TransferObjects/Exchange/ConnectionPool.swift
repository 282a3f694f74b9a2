import TransferIO
import TransferSystem

/// Limits of the connections to one server.
package struct PoolLimits: Sendable {
    /// Connections at the same time. S3 engines handle thousands; each costs a descriptor here, and 300 KiB with TLS.
    package var connections = 64

    /// Nanoseconds after which an unused connection is not used again: less than the shortest time after which servers
    /// close theirs (Amazon's after some 20 s).
    package var idle: Int64 = 15_000_000_000

    package init() {}
}

/// The connections to one server: at most a limited number, and those that no thread uses are kept for a while.
///
/// A thread calls `take`, uses the connection alone, and calls `giveBack` or `drop`, always one of them. Any thread may
/// call at any time.
final class ConnectionPool: Sendable {
    /// A connection of one thread.
    struct Lease {
        let socket: WaitingSocket
        /// Whether the connection has carried a request before, so that the server may have closed it.
        let isReused: Bool
    }

    /// Connections that no thread uses, the latest one last.
    ///
    /// `@unchecked Sendable`: a socket is used only by the thread that has removed it from the list, under the lock.
    private struct State: @unchecked Sendable {
        var kept: [(socket: WaitingSocket, since: Int64)] = []
        /// Connections in use, with those that are being made.
        var used = 0
    }

    let origin: Origin
    private let limits: PoolLimits
    private let now: @Sendable () -> Int64
    private let monitor = Monitor(State())
    /// Number of connections that were made so far.
    let made = Counter()

    /// - Parameter now: the monotonic clock, in nanoseconds; another one only in tests.
    init(_ origin: Origin, limits: PoolLimits, now: @escaping @Sendable () -> Int64 = monotonicNanoseconds) {
        (self.origin, self.limits, self.now) = (origin, limits, now)
    }

    /// Numbers of kept and used connections, for metrics and tests.
    var counts: (kept: Int, used: Int) {
        monitor.withLock { (monitor.state.kept.count, monitor.state.used) }
    }

    /// Takes a connection: the one that was used last, if it is still quiet, or a new one. Waits for another thread if
    /// all are in use.
    ///
    /// - Parameter mustBeNew: whether a kept connection will not do.
    func take(mustBeNew: Bool = false, connect: Int64, until deadline: Int64) throws(ExchangeFault) -> Lease {
        while let socket = try place(mustBeNew, deadline) {
            // The server may have closed the connection, or sent an answer that was not asked for.
            if socket.isQuiet { return Lease(socket: socket, isReused: true) }
            release()
        }
        do throws(ExchangeFault) {
            let socket = try origin.connect(attempt: connect, until: deadline)
            made.add()
            return Lease(socket: socket, isReused: false)
        } catch {
            release()
            throw error
        }
    }

    /// Counts one more used connection.
    ///
    /// - Returns: a kept connection; nil if a new one is to be made.
    private func place(_ mustBeNew: Bool, _ deadline: Int64) throws(ExchangeFault) -> WaitingSocket? {
        // Released after the lock, because that may send TLS's closing alert.
        var dropped: [WaitingSocket] = []
        defer { for socket in dropped { socket.sayGoodbye() } }
        monitor.lock()
        defer { monitor.unlock() }
        while true {
            dropped += sweep()
            if monitor.state.used < limits.connections {
                monitor.state.used += 1
                if !mustBeNew, let latest = monitor.state.kept.popLast() { return latest.socket }
                // Kept connections count, too: the oldest one makes room for the new one.
                if monitor.state.used + monitor.state.kept.count > limits.connections, !monitor.state.kept.isEmpty {
                    dropped.append(monitor.state.kept.removeFirst().socket)
                }
                return nil
            }
            guard monitor.wait(until: deadline) || monitor.state.used < limits.connections else {
                throw ExchangeFault(.crowded)
            }
        }
    }

    /// Removes connections that were unused for too long. The caller holds the lock.
    private func sweep() -> [WaitingSocket] {
        let oldest = now() - limits.idle
        let old = monitor.state.kept.prefix { $0.since < oldest }
        monitor.state.kept.removeFirst(old.count)
        return old.map(\.socket)
    }

    /// Keeps a connection for the next request.
    func giveBack(_ lease: Lease) {
        let dropped = monitor.withLock {
            monitor.state.used -= 1
            monitor.state.kept.append((lease.socket, now()))
            monitor.wakeOne()
            return sweep()
        }
        for socket in dropped { socket.sayGoodbye() }
    }

    /// Closes a connection that cannot be used again.
    func drop(_ lease: Lease) {
        lease.socket.sayGoodbye()
        release()
    }

    private func release() {
        monitor.withLock {
            monitor.state.used -= 1
            monitor.wakeOne()
        }
    }

    /// Closes the connections that no thread uses.
    func closeKept() {
        let dropped = monitor.withLock {
            defer { monitor.state.kept = [] }
            return monitor.state.kept.map(\.socket)
        }
        for socket in dropped { socket.sayGoodbye() }
    }

    /// Sends a request and reads the answer. If a kept connection is cut before any byte of the answer, the request is
    /// sent once more over a new one, as RFC 9112 (section 9.3.1) permits for idempotent methods; all requests here are.
    func send(
        _ request: OutgoingRequest, into place: AnswerPlace, times: ExchangeTimes, until deadline: Int64
    ) throws(ExchangeFault) -> HTTPAnswer {
        var mustBeNew = false
        while true {
            let lease = try take(mustBeNew: mustBeNew, connect: times.connect, until: deadline)
            do throws(ExchangeFault) {
                let answer = try Exchange.run(
                    request, on: lease.socket, into: place, times: times, until: deadline)
                if answer.isReusable { giveBack(lease) } else { drop(lease) }
                return answer
            } catch {
                drop(lease)
                guard lease.isReused, error.isCutBeforeAnswer else { throw error }
                mustBeNew = true
            }
        }
    }
}
