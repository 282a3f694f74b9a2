internal import CLinux
import Glibc
package import TransferSystem

extension StreamSocket {
    /// A socket that is not yet connected. The caller is isolated to the loop.
    package convenience init(
        for address: SocketAddress, loop: EventLoop, readable: Signal = Signal()
    ) throws(SystemError) {
        try self.init(
            try makeSocket(family: address.family), loop: loop, readable: readable, interest: [.input, .output])
    }

    /// Connects to one address; the socket was made for it. The caller is isolated to the loop, and closes the socket when
    /// this fails. Closing it meanwhile ends the attempt.
    ///
    /// - Parameter nanoseconds: after which the attempt is given up.
    /// - Throws: what connect(2) says, ETIMEDOUT and ECANCELED included.
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

    /// For a peer on this machine, with nothing between that could be congested or slow. Without effect on Unix-domain sockets.
    ///
    /// Algorithms that pace what they send (BBR) cost a timer for each segment there: a sixth of the CPU time of a large push.
    /// Reno doesn't, and every process may choose it (tcp(7)). And little may wait unsent: what the receiver has no room for
    /// yet leaves the cache, and is sent in the receiver's time when it has.
    private func tuneForLoopback() {
        chooseCongestionControl("reno")
        bound(.little)
    }

    /// For a peer elsewhere. Reno and CUBIC take each loss for a queue that is full: half a per cent of it leaves a line of 100
    /// Mbit/s and 80 ms nine tenths idle. BBR measures what the line carries. Where the kernel has none, or lets this process
    /// not choose it (`net.ipv4.tcp_allowed_congestion_control`, tcp(7)), what there is stays.
    ///
    /// The kernel would take megabytes on a slow connection, which another one could have sent long before.
    private func tuneForNetwork() {
        chooseCongestionControl(Self.bandwidthMeasuring)
        bound(.far)
    }

    /// What the connection is like.
    ///
    /// - Returns: nothing for one that is closed or no TCP connection, or with a kernel before 4.10.
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

    /// How much may wait in the kernel that it has not sent.
    package func bound(_ unsent: Unsent) {
        guard !isClosed else { return }
        var bytes = unsent.rawValue
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    private func chooseCongestionControl(_ name: String) {
        setsockopt(number, Int32(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
    }

    /// Bytes that wait in the kernel.
    package enum Unsent: Int32, Sendable {
        /// Towards this machine less is as good, and four times as much is not. And for a connection that is slow.
        case little = 65536
        /// It has to last until this side is awake.
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
            // An edge from before the attempt may be stored in the signal: only a peer or an error ends the wait.
            await writable.wait()
            if isClosed { throw SystemError(errno: ECANCELED, call: "connect") }
            if let error = pendingError() { throw error }
            if hasPeer { return }
            if hasTimedOut { throw SystemError(errno: ETIMEDOUT, call: "connect") }
        }
    }

    /// - Returns: true when the connection was made at once.
    private func start(_ address: SocketAddress) throws(SystemError) -> Bool {
        let code = address.withPointer { Glibc.connect(number, $0, $1) }
        guard code != 0 else { return true }
        // EINTR means that the attempt goes on (connect(2)); EAGAIN that a Unix-domain backlog is full.
        guard errno == EINPROGRESS || errno == EINTR else { throw SystemError(errno: errno, call: "connect") }
        return false
    }

    private var hasPeer: Bool {
        (try? SocketAddress.filled(by: "getpeername") { getpeername(number, $0, &$1) }) != nil
    }
}

/// A socket that neither blocks nor survives exec.
func makeSocket(family: Int32) throws(SystemError) -> Descriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return Descriptor(try system("socket") { socket(family, type, 0) })
}
