import Glibc

/// Relays one direction of a connection and applies its faults. Each direction has a thread.
struct FaultyPump: ~Copyable {
    private let from: Wire
    private let to: Wire
    private var plan: FaultPlan
    private let isReset: FaultyProxy.Flag
    private let tally: FaultTally
    private var offset = 0
    private var isOver = false

    init(_ from: Wire, _ to: Wire, _ plan: FaultPlan, _ isReset: FaultyProxy.Flag, _ tally: FaultTally) {
        self.from = from
        self.to = to
        self.plan = plan
        self.isReset = isReset
        self.tally = tally
    }

    /// Relays bytes until the connection ends.
    consuming func run() {
        while !isOver, let bytes = from.receive() { pass(bytes[...]) }
        // shutdown(2) ends a connection in order. A reset happens only if a socket with a linger time of 0 is closed
        // without shutdown.
        guard !isReset.isSet else { return }
        from.cut()
        to.cut()
    }

    private mutating func pass(_ bytes: ArraySlice<UInt8>) {
        var bytes = bytes
        while !isOver, !bytes.isEmpty {
            let clean = min(bytes.count, plan.distance(from: offset))
            send(bytes.prefix(clean))
            bytes = bytes.dropFirst(clean)
            if !bytes.isEmpty, let fault = plan.take(at: offset) { bytes = apply(fault, to: bytes) }
        }
    }

    /// - Returns: the bytes still to be relayed.
    private mutating func apply(_ fault: WireFault, to bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        tally.add(fault)
        switch fault {
        case .pieces(let size, let count):
            var rest = bytes.prefix(count)
            while !isOver, !rest.isEmpty {
                send(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            return bytes.dropFirst(count)
        case .pause(let milliseconds):
            to.waitForEnd(milliseconds)
            return bytes
        case .blackHole:
            while from.receive() != nil {}
            isOver = true
        case .close: isOver = true
        case .reset:
            isReset.set()
            from.prepareReset()
            to.prepareReset()
            isOver = true
        case .flip(let bit):
            var damaged = bytes
            damaged[damaged.startIndex] ^= 1 << bit
            return damaged
        case .duplicate(let count): send(bytes.prefix(count), counts: false)
        case .drop(let count):
            offset += min(count, bytes.count)
            return bytes.dropFirst(count)
        }
        return bytes
    }

    /// - Parameter counts: false for bytes that are repeated, which do not advance the offset.
    private mutating func send(_ bytes: ArraySlice<UInt8>, counts: Bool = true) {
        if counts { offset += bytes.count }
        if !to.send(Array(bytes)) { isOver = true }
    }
}

extension Wire {
    /// POLLRDHUP of poll(2): the peer has ended its direction. Glibc declares it only for code that defines
    /// _GNU_SOURCE.
    private static let peerHasEnded: Int16 = 0x2000

    /// Waits until the peer has ended its direction, at most this long.
    fileprivate func waitForEnd(_ milliseconds: Int32) {
        var descriptor = pollfd(fd: number, events: Self.peerHasEnded, revents: 0)
        poll(&descriptor, 1, milliseconds)
    }

    /// Resets the connection when the last reference to the socket is released, and wakes threads that wait to receive.
    fileprivate func prepareReset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(number, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        shutdown(number, Int32(SHUT_RD))
    }
}
