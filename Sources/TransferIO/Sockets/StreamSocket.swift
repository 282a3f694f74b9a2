internal import CLinux
import Glibc
package import TransferSystem

/// A connected stream socket on a loop. It never blocks: reading and writing say when they would have to wait, and the
/// two signals fire when it may be worth trying again.
///
/// Edge-triggered: after a call that would have to wait, the matching signal fires at the next change; before that, the
/// caller goes on until it has to wait. Belongs to whoever is isolated to the loop.
package final class StreamSocket: ReadinessHandler {
    /// What reading found.
    package enum Received: Equatable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The peer will send no more.
        case end
    }

    package let readable: Signal
    package let writable: Signal

    /// Whether the peer will send no more.
    package let peerEnd: PeerEnd

    let loop: EventLoop
    let number: Int32
    private var registration: Registration?
    /// Between this socket and its user, once TLS was begun.
    var layer: TLSLayer?
    /// What the kernel watches. Room for output is watched from the first time on that there is none: who receives seldom
    /// has to know.
    private var interest: Interest
    package private(set) var isReadingPaused = false
    /// The direction is to be closed when what waits in the layer was sent.
    private var endsSending = false

    /// Takes ownership of a non-blocking socket and watches it.
    ///
    /// - Parameters:
    ///   - readable: fired when reading may go on; several sources of news may share one signal.
    ///   - writable: fired when writing may go on.
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
        // Trap: our own mistake; nothing from outside decides it.
        assert(registration == nil, "a socket must be closed before it is let go")
    }

    var isClosed: Bool { registration == nil }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Received {
        guard registration != nil else { return .end }
        if let layer {
            // What was received may have ended what kept this side from sending.
            defer { if layer.sendingAwaitsInput { writable.fire() } }
            return try layer.receive(into: buffer)
        }
        return try received { () throws(SystemError) in try receiveBare(into: buffer) }
    }

    /// - Returns: how many bytes were taken and will be sent, or nothing when none are taken now.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        guard registration != nil else { throw .system(SystemError(errno: EPIPE, call: "send")) }
        if let layer {
            defer { goOn(layer) }
            return try layer.send(bytes)
        }
        return try streaming { () throws(SystemError) in try sendBare(bytes) }
    }

    /// Receives what nobody wants to know any more, as it comes from the wire.
    package func discard(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Received {
        guard registration != nil else { return .end }
        return try received { () throws(SystemError) in try receiveBare(into: buffer) }
    }

    /// While nobody reads, every packet that comes would wake the loop for nothing. When this ends, `readable` fires if there
    /// is something to read.
    package func pauseReading(_ isPaused: Bool) {
        isReadingPaused = isPaused
        watchInput()
        if !isPaused, let layer, layer.mayReceive { readable.fire() }
    }

    /// A layer that cannot send before more comes wants to know of it also while nobody reads.
    private func watchInput() {
        let isWanted = !isReadingPaused || layer?.sendingAwaitsInput == true
        watch(isWanted ? interest.union(.input) : interest.subtracting(.input))
    }

    private func watch(_ wanted: Interest) {
        guard let registration, wanted != interest else { return }
        interest = wanted
        loop.watch(number, registration, for: wanted)
    }

    /// After the layer has sent, or tried to.
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

    /// - Parameter flags: of recv(2).
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

    /// Says that no more will be sent; reading goes on.
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

    /// Sends small writes at once instead of waiting to fill a segment (tcp(7)); whoever writes here writes whole
    /// messages. Without effect on Unix-domain sockets.
    package func disableDelay() {
        guard registration != nil else { return }
        var on: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Bytes that were given to the kernel and that the other end's system has not taken, or may not have: a Unix-domain socket
    /// counts more than was sent. Nothing where nobody can tell, as of a socket that is closed or encrypts.
    package var unacknowledged: Int? {
        guard registration != nil, layer == nil else { return nil }
        var count: Int32 = 0
        guard clinux_unacknowledged(number, &count) == 0, count >= 0 else { return nil }
        return Int(count)
    }

    /// Nanoseconds since data last came from the other end: it was alive then, whenever this program has got round to reading it.
    /// Nothing where nobody can tell, as of a Unix-domain socket.
    package var timeSinceData: Int64? {
        var milliseconds: UInt32 = 0
        guard registration != nil, clinux_since_data(number, &milliseconds) == 0 else { return nil }
        return Int64(milliseconds) * 1_000_000
    }

    /// What went wrong since the last look (SO_ERROR of socket(7)); how a connection attempt ended.
    package func pendingError() -> SystemError? {
        guard registration != nil else { return nil }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length)
        return code == 0 ? nil : SystemError(errno: code, call: "connect")
    }

    /// Closes the socket; later calls find the end. Both signals fire, so that nobody waits for ever.
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

    /// What waits in the layer was accepted already, so it is sent also when nobody has anything to add. If it cannot be,
    /// the next call of `send` says so.
    private func flushed() {
        if let layer {
            try? layer.flush()
            goOn(layer)
        }
        endIfSent()
        writable.fire()
    }
}
