internal import CLinux
import Glibc
package import TransferSystem

/// A connected stream socket on a loop. It never blocks: reading and writing report when they would have to wait, and
/// two signals fire when the call may succeed.
///
/// Events are edge-triggered: the signal fires only after a call that would have had to wait, so callers must repeat
/// the call until it reports that. Used only on its loop.
package final class StreamSocket: ReadinessHandler {
    /// The result of one attempt to read.
    package enum Received: Equatable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The peer has ended its direction.
        case end
    }

    package let readable: Signal
    package let writable: Signal

    /// Shows whether the peer has ended its direction.
    package let peerEnd: PeerEnd

    let loop: EventLoop
    let number: Int32
    private var registration: Registration?
    /// TLS between this socket and the code that uses it; nil without TLS.
    var layer: TLSLayer?
    /// Events that the kernel reports. Output is watched only after the first write that would block, because receivers
    /// seldom need it.
    private var interest: Interest
    package private(set) var isReadingPaused = false
    /// Whether the sending direction has to be ended once all ciphertext of the layer is sent.
    private var endsSending = false

    /// Takes ownership of a non-blocking socket and watches it.
    ///
    /// - Parameters:
    ///   - readable: fires if reading may continue; other sources may share the signal.
    ///   - writable: fires if writing may continue.
    package convenience init(
        _ descriptor: consuming Descriptor, loop: EventLoop, readable: Signal = Signal(), writable: Signal = Signal()
    ) throws(SystemError) {
        try self.init(descriptor, loop: loop, readable: readable, writable: writable, interest: .input)
    }

    init(
        _ descriptor: consuming Descriptor, loop: EventLoop, readable: Signal, writable: Signal = Signal(),
        interest: Interest
    ) throws(SystemError) {
        self.loop = loop
        self.readable = readable
        self.writable = writable
        self.interest = interest
        number = descriptor.number
        peerEnd = PeerEnd(descriptor.number)
        registration = nil
        registration = try loop.register(descriptor.number, for: interest, self)
        _ = descriptor.release()
    }

    deinit {
        // Trap: only a programming error causes this.
        assert(registration == nil, "a socket must be closed before it is let go")
    }

    var isClosed: Bool { registration == nil }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Received {
        guard registration != nil else { return .end }
        if let layer {
            // After receiving, the layer may be able to send again.
            defer { if layer.sendingAwaitsInput { writable.fire() } }
            return try layer.receive(into: buffer)
        }
        return try received { () throws(SystemError) in try receiveBare(into: buffer) }
    }

    /// - Returns: the number of bytes that were taken and will be sent; nil if none can be taken now.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        guard registration != nil else { throw .system(SystemError(errno: EPIPE, call: "send")) }
        if let layer {
            defer { goOn(layer) }
            return try layer.send(bytes)
        }
        return try streaming { () throws(SystemError) in try sendBare(bytes) }
    }

    /// Receives bytes as they are on the wire, and drops them.
    package func discard(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Received {
        guard registration != nil else { return .end }
        return try received { () throws(SystemError) in try receiveBare(into: buffer) }
    }

    /// Stops or resumes reading. While it is stopped, arriving packets do not wake the loop. On resuming, `readable`
    /// fires if there are bytes to read.
    package func pauseReading(_ isPaused: Bool) {
        isReadingPaused = isPaused
        watchInput()
        if !isPaused, let layer, layer.mayReceive { readable.fire() }
    }

    /// Watches input unless reading is stopped. If a TLS layer cannot send before it has received, input is watched in
    /// any case.
    private func watchInput() {
        let isWanted = !isReadingPaused || layer?.sendingAwaitsInput == true
        watch(isWanted ? interest.union(.input) : interest.subtracting(.input))
    }

    private func watch(_ wanted: Interest) {
        guard let registration, wanted != interest else { return }
        interest = wanted
        loop.watch(number, registration, for: wanted)
    }

    /// Called after the layer has sent, or has tried to send.
    private func goOn(_ layer: TLSLayer) {
        if isReadingPaused { watchInput() } else if layer.mayReceive { readable.fire() }
    }

    private func received(_ body: () throws(SystemError) -> Int?) throws(StreamError) -> Received {
        switch try streaming(body) {
        case nil: .wouldBlock
        case 0?: .end
        case let count?: .bytes(count)
        }
    }

    /// - Parameter flags: flags of recv(2).
    func receiveBare(
        into buffer: UnsafeMutableRawBufferPointer, flags: Int32 = 0
    ) throws(SystemError) -> Int? {
        try nonBlocking("recv") { recv(number, buffer.baseAddress, buffer.count, flags) }
    }

    func sendBare(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int? {
        let count = try nonBlocking("send") {
            Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        if count == nil { watch(interest.union(.output)) }
        return count
    }

    /// Ends the sending direction; reading continues.
    package func endSending() {
        guard registration != nil else { return }
        layer?.close()
        endsSending = true
        endIfSent()
    }

    private func endIfSent() {
        guard endsSending, layer?.hasUnsent != true else { return }
        shutdown(number, Int32(SHUT_WR))
    }

    /// Makes the kernel send small writes at once instead of waiting for a full segment (tcp(7)), because all code here
    /// writes whole messages. Has no effect on Unix sockets.
    package func disableDelay() {
        guard registration != nil else { return }
        var on: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Bytes given to the kernel that the peer's system has not acknowledged. A Unix socket reports more bytes than
    /// were sent. Nil if the number is unknown, as for a closed or encrypted socket.
    package var unacknowledged: Int? {
        guard registration != nil, layer == nil else { return nil }
        var count: Int32 = 0
        guard clinux_unacknowledged(number, &count) == 0, count >= 0 else { return nil }
        return Int(count)
    }

    /// Nanoseconds since data last arrived from the peer, even if it is not read yet: the peer was alive at that time.
    /// Nil if this is unknown, as for a Unix socket.
    package var timeSinceData: Int64? {
        var milliseconds: UInt32 = 0
        guard registration != nil, clinux_since_data(number, &milliseconds) == 0 else { return nil }
        return Int64(milliseconds) * 1_000_000
    }

    /// The error that occurred since the last call (SO_ERROR of socket(7)), such as the failure of a connection
    /// attempt.
    package func pendingError() -> SystemError? {
        guard registration != nil else { return nil }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length)
        return code == 0 ? nil : SystemError(errno: code, call: "connect")
    }

    /// Closes the socket. Later calls report the end of the connection. Both signals fire, so that no task waits for
    /// ever.
    package func close() {
        guard let registration else { return }
        layer?.close()
        self.registration = nil
        loop.deregister(registration)
        peerEnd.close()
        layer = nil
        readable.fire()
        writable.fire()
    }

    func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.readable, .failed]) {
            readable.fire()
            if layer?.sendingAwaitsInput == true { writable.fire() }
        }
        if !readiness.isDisjoint(with: [.writable, .failed]) { flushed() }
    }

    /// Sends waiting ciphertext, even if the code that uses the socket has no more to send. If this fails, the next
    /// `send` throws.
    private func flushed() {
        if let layer {
            try? layer.flush()
            goOn(layer)
        }
        endIfSent()
        writable.fire()
    }
}
