internal import CLinux
import Glibc
package import TransferSystem

extension StreamSocket {
    /// Makes a socket that is not yet connected. The caller must be isolated to the loop.
    package convenience init(
        for address: SocketAddress, loop: EventLoop, readable: Signal = Signal()
    ) throws(SystemError) {
        try self.init(
            try makeSocket(family: address.family), loop: loop, readable: readable, interest: [.input, .output])
    }

    /// Connects to the address for which the socket was made. The caller must be isolated to the loop, and must close
    /// the socket if this fails. Closing the socket during the attempt cancels it.
    ///
    /// - Parameter nanoseconds: timeout of the attempt.
    /// - Throws: errors of connect(2), and ETIMEDOUT and ECANCELED.
    package func connect(to address: SocketAddress, timeout nanoseconds: Int64) async throws(SystemError) {
        try await finishConnecting(to: address, timeout: nanoseconds)
        if address.family == AF_UNIX { return }
        disableDelay()
        tune(isLocal: address.isLocal)
    }

    /// - Parameter isLocal: whether the peer is on this machine.
    package func tune(isLocal: Bool) {
        guard !isClosed else { return }
        if isLocal { tuneForLoopback() } else { tuneForNetwork() }
    }

    /// Settings for a peer on this machine, where no part of the way can be congested or slow. They have no effect on
    /// Unix sockets.
    ///
    /// Congestion control that paces packets (BBR) costs a timer for each segment: a sixth of the CPU time of a large
    /// push. Reno does not pace, and every process may choose it (tcp(7)). Only few unsent bytes may wait in the
    /// kernel, because bytes for which the receiver has no room leave the processor's cache before they are sent.
    private func tuneForLoopback() {
        chooseCongestionControl("reno")
        bound(.little)
    }

    /// Settings for a peer on another machine. Reno and CUBIC interpret each loss as a full queue: with a loss of half
    /// a per cent, a line of 100 Mbit/s and 80 ms is idle for nine tenths of the time. BBR measures the bandwidth of
    /// the line. If the kernel has no BBR, or does not permit it (`net.ipv4.tcp_allowed_congestion_control`, tcp(7)),
    /// the kernel's default stays.
    ///
    /// Unsent bytes are limited: on a slow connection, the kernel would accept megabytes that another connection could
    /// have sent much earlier.
    private func tuneForNetwork() {
        chooseCongestionControl(Self.bandwidthMeasuring)
        bound(.far)
    }

    /// TCP's measurements of the connection.
    ///
    /// - Returns: nil for a socket that is closed or is not a TCP socket, and with kernels before 4.10.
    package var link: LinkReading? {
        var link = clinux_link()
        guard !isClosed, clinux_read_link(number, &link) == 0 else { return nil }
        return LinkReading(
            leastRoundTrip: 1000 * Int64(link.least_round_trip), roundTrip: 1000 * Int64(link.round_trip),
            measuresBandwidth: congestionControl == Self.bandwidthMeasuring,
            heldByMemory: link.busy == 0
                ? 0 : (Double(link.window_limited) + Double(link.buffer_limited)) / Double(link.busy),
            acknowledged: link.acknowledged, sentAgain: link.sent_again)
    }

    private static let bandwidthMeasuring = "bbr"

    private var congestionControl: String {
        // TCP_CA_NAME_MAX (linux/tcp.h).
        var name = [UInt8](repeating: 0, count: 16)
        var length = socklen_t(name.count)
        guard getsockopt(number, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Limits how many unsent bytes wait in the kernel.
    package func bound(_ unsent: Unsent) {
        guard !isClosed else { return }
        var bytes = unsent.rawValue
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    private func chooseCongestionControl(_ name: String) {
        setsockopt(number, Int32(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
    }

    /// Limits for unsent bytes in the kernel.
    package enum Unsent: Int32, Sendable {
        /// For a peer on this machine, where a lower limit is as good and a limit four times as high is worse, and for
        /// a slow connection.
        case little = 65536
        /// For a peer on another machine: enough bytes until this process runs again.
        case far = 262144
    }

    private func finishConnecting(to address: SocketAddress, timeout nanoseconds: Int64) async throws(SystemError) {
        guard try !start(address) else { return }
        var hasTimedOut = false
        let timer = loop.schedule(at: monotonicDeadline(after: nanoseconds)) { [writable] in
            hasTimedOut = true
            writable.fire()
        }
        defer { loop.cancel(timer) }
        while true {
            // The signal may have fired before the attempt, so the wait ends only when the socket has a peer or an
            // error.
            await writable.wait()
            if isClosed { throw SystemError(errno: ECANCELED, call: "connect") }
            if let error = pendingError() { throw error }
            if hasPeer { return }
            if hasTimedOut { throw SystemError(errno: ETIMEDOUT, call: "connect") }
        }
    }

    /// - Returns: true if the connection was established at once.
    private func start(_ address: SocketAddress) throws(SystemError) -> Bool {
        let code = address.withPointer { Glibc.connect(number, $0, $1) }
        guard code != 0 else { return true }
        // EINTR means that the attempt continues (connect(2)). EAGAIN means that the queue of a Unix socket is full.
        guard errno == EINPROGRESS || errno == EINTR else { throw SystemError(errno: errno, call: "connect") }
        return false
    }

    private var hasPeer: Bool {
        (try? SocketAddress.filled(by: "getpeername") { getpeername(number, $0, &$1) }) != nil
    }
}

/// Makes a socket that does not block and is closed on exec.
func makeSocket(family: Int32) throws(SystemError) -> Descriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return Descriptor(try system("socket") { socket(family, type, 0) })
}
