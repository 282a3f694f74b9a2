internal import CLinux
import Glibc
import TransferSystem

/// A connected stream socket for a caller on a pool thread, with or without TLS. `receive` and `send` do not wait;
/// `wait` does, with poll(2) and a deadline, for either direction. So one thread can send a request and notice an early
/// answer.
///
/// In this order: `connect`, `startTLS` if the server uses it, then `send`, `receive`, `flush` and `wait` in any order.
/// Deadlines are nanoseconds of the monotonic clock, as from `monotonicDeadline`. One thread at a time may use the
/// socket. It is closed when it is released.
package final class WaitingSocket {
    /// Spare buffers for ciphertext: a connection receives and sends in turn, so it seldom needs a second one.
    private static let spareBuffers = 1

    private let descriptor: Descriptor
    private var layer: TLSLayer?

    /// Connects to an address, and lets small writes leave at once (TCP_NODELAY, tcp(7)): without that, an answer waits
    /// up to 40 ms for a delayed acknowledgement.
    ///
    /// - Throws: errors of socket(2) and connect(2); ETIMEDOUT if the deadline passes.
    package init(connectingTo address: SocketAddress, until deadline: Int64) throws(StreamError) {
        do throws(SystemError) {
            let socket = try makeSocket(family: address.family)
            try Self.connect(socket.number, to: address, until: deadline)
            descriptor = socket
        } catch {
            throw .system(error)
        }
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // Fails on Unix sockets, which need no such option.
        setsockopt(descriptor.number, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
    }

    private static func connect(
        _ number: Int32, to address: SocketAddress, until deadline: Int64
    ) throws(SystemError) {
        let code = address.withPointer { Glibc.connect(number, $0, $1) }
        guard code != 0 else { return }
        // EINTR means that the attempt continues (connect(2)).
        guard errno == EINPROGRESS || errno == EINTR else { throw SystemError(errno: errno, call: "connect") }
        guard try poll(number, for: Int16(POLLOUT), until: deadline) else {
            throw SystemError(errno: ETIMEDOUT, call: "connect")
        }
        var problem: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try system("getsockopt") { getsockopt(number, SOL_SOCKET, SO_ERROR, &problem, &length) }
        guard problem == 0 else { throw SystemError(errno: problem, call: "connect") }
    }

    /// Makes the TLS connection.
    ///
    /// - Parameters:
    ///   - name: the server's name or numeric address, which its certificate must have.
    ///   - judge: decides whether the server can be trusted.
    /// - Throws: ETIMEDOUT if the deadline passes, and reasons why the handshake failed.
    package func startTLS(
        _ context: TLSContext, name: String, judge: @escaping TLSJudge, until deadline: Int64
    ) throws(StreamError) {
        let session: TLSSession
        do throws(TLSFault) {
            session = try TLSSession(context, name: name, judge: judge)
        } catch {
            throw .tls(error)
        }
        let number = descriptor.number
        // The layer is released before the descriptor is closed, because both belong to this object.
        let wire = TLSLayer.Wire(
            receive: { (buffer) throws(SystemError) in try Self.receiveBare(number, into: buffer) },
            send: { (bytes) throws(SystemError) in try Self.sendBare(number, bytes) })
        let layer = TLSLayer(session, CiphertextBuffers(spares: Self.spareBuffers), wire)
        self.layer = layer
        while try !layer.handshake() {
            guard try wait(until: deadline) else { throw .system(SystemError(errno: ETIMEDOUT, call: "handshake")) }
        }
    }

    /// Receives what has arrived, without waiting.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> StreamSocket.Received {
        if let layer { return try layer.receive(into: buffer) }
        let number = descriptor.number
        switch try streaming({ () throws(SystemError) in try Self.receiveBare(number, into: buffer) }) {
        case nil: return .wouldBlock
        case 0?: return .end
        case let count?: return .bytes(count)
        }
    }

    /// Sends as much as the kernel accepts, without waiting.
    ///
    /// - Returns: the number of bytes that were taken; nil if none can be taken now.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        if let layer { return try layer.send(bytes) }
        let number = descriptor.number
        return try streaming { () throws(SystemError) in try Self.sendBare(number, bytes) }
    }

    /// Sends ciphertext of bytes that `send` has taken.
    ///
    /// - Returns: whether everything has left; if not, the caller waits with `forSending` and calls again.
    package func flush() throws(StreamError) -> Bool {
        try layer?.flush()
        return layer?.hasUnsent != true
    }

    /// Waits until bytes may have arrived.
    ///
    /// - Parameter forSending: whether to return also when bytes can be sent.
    /// - Returns: false if the deadline has passed.
    package func wait(forSending: Bool = false, until deadline: Int64) throws(StreamError) -> Bool {
        if let layer, layer.mayReceive { return true }
        // If TLS cannot send before it has received, waiting for room would return at once for ever.
        let needsRoom = layer.map { $0.hasUnsent || forSending && !$0.sendingAwaitsInput } ?? forSending
        let events = Int16(needsRoom ? POLLIN | POLLOUT : POLLIN)
        let number = descriptor.number
        return try streaming { () throws(SystemError) in try Self.poll(number, for: events, until: deadline) }
    }

    /// Whether the peer has neither ended the connection nor sent bytes. Messages of TLS itself, such as tickets, are
    /// taken in.
    package var isQuiet: Bool {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { space in
            (try? receive(into: space)) == .wouldBlock
        }
    }

    /// Sends TLS's closing alert, without waiting. Call it only before the socket is released.
    package func sayGoodbye() {
        layer?.close()
    }

    private static func receiveBare(
        _ number: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int? {
        try nonBlocking("recv") { recv(number, buffer.baseAddress, buffer.count, 0) }
    }

    private static func sendBare(_ number: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int? {
        try nonBlocking("send") { Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Waits for events of one descriptor (poll(2)). Errors and the end of the connection are events, too.
    ///
    /// - Returns: false if the deadline has passed.
    private static func poll(_ number: Int32, for events: Int16, until deadline: Int64) throws(SystemError) -> Bool {
        while true {
            let (rest, overflow) = deadline.subtractingReportingOverflow(monotonicNanoseconds())
            let nanoseconds = overflow ? .max : max(0, rest)
            // Rounded up, so that a wait does not end just before the deadline, again and again.
            let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 > 0 ? 1 : 0)
            var entry = pollfd(fd: number, events: events, revents: 0)
            let count = Glibc.poll(&entry, 1, Int32(clamping: milliseconds))
            if count > 0 { return true }
            if count < 0, errno != EINTR { throw SystemError(errno: errno, call: "poll") }
            if count == 0, monotonicNanoseconds() >= deadline { return false }
        }
    }
}
