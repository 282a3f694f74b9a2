internal import CLinux
import Glibc
package import TransferSystem

extension StreamSocket {
    /// Makes a socket that is not yet connected. The caller is isolated to the loop.
    package convenience init(
        for address: SocketAddress, loop: EventLoop, readable: Signal = Signal()
    ) throws(SystemError) {
        try self.init(
            try makeSocket(family: address.family), loop: loop, readable: readable, interest: [.input, .output])
    }

    /// Connects to the address for which the socket was made. The caller is isolated to the loop, and closes the socket
    /// if this fails. Closing it meanwhile cancels the attempt.
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

    /// Settings for a peer on this machine, where nothing can be congested or slow. No effect on Unix sockets.
    ///
    /// Congestion control that paces packets (BBR) costs a timer for each segment: a sixth of the CPU time of a large
    /// push. Reno has none, and every process may choose it (tcp(7)). Few unsent bytes may wait, because bytes for
    /// which the receiver has no room leave the cache before they are sent.
    private func tuneForLoopback() {
        chooseCongestionControl("reno")
        bound(.little)
    }

    /// Settings for a peer elsewhere. Reno and CUBIC take each loss for a full queue: half a per cent of loss leaves a
    /// line of 100 Mbit/s and 80 ms nine tenths idle. BBR measures the bandwidth of the line. If the kernel has no BBR,
    /// or does not permit it (`net.ipv4.tcp_allowed_congestion_control`, tcp(7)), its default stays.
    ///
    /// Unsent bytes are limited: on a slow connection the kernel would accept megabytes that another connection could
    /// have sent long before.
    private func tuneForNetwork() {
        chooseCongestionControl(Self.bandwidthMeasuring)
        bound(.far)
    }

    /// TCP's measurements of the connection.
    ///
    /// - Returns: nil for a closed or other socket, and with kernels before 4.10.
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

    /// Limits the unsent bytes that wait in the kernel.
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
        /// For a peer on this machine, where fewer are as good and four times as many are worse, and for a slow
        /// connection.
        case little = 65536
        /// For a peer elsewhere: enough until this process runs again.
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
            // The signal may remember an event from before the attempt: only a peer or an error ends the wait.
            await writable.wait()
            if isClosed { throw SystemError(errno: ECANCELED, call: "connect") }
            if let error = pendingError() { throw error }
            if hasPeer { return }
            if hasTimedOut { throw SystemError(errno: ETIMEDOUT, call: "connect") }
        }
    }

    /// - Returns: true if the connection was made at once.
    private func start(_ address: SocketAddress) throws(SystemError) -> Bool {
        let code = address.withPointer { Glibc.connect(number, $0, $1) }
        guard code != 0 else { return true }
        // EINTR means that the attempt continues (connect(2)); EAGAIN that the queue of a Unix socket is full.
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
