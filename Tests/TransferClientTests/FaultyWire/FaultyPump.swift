import Glibc

/// One direction of a connection, on a thread of its own.
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

    /// Pumps to the end of the connection.
    consuming func run() {
        while !isOver, let bytes = from.receive() { pass(bytes[...]) }
        // A socket that was shut down says goodbye; one that is only closed, with a linger time of nothing, resets.
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

    /// - Returns: what is still to be passed.
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

    /// - Parameter counts: whether these are bytes that were received, and not some of them again.
    private mutating func send(_ bytes: ArraySlice<UInt8>, counts: Bool = true) {
        if counts { offset += bytes.count }
        if !to.send(Array(bytes)) { isOver = true }
    }
}

extension Wire {
    /// poll(2)'s POLLRDHUP, the peer has ended its direction; Glibc only shows it to those who define _GNU_SOURCE.
    private static let peerHasEnded: Int16 = 0x2000

    /// Waits until the peer has gone, at most so long.
    fileprivate func waitForEnd(_ milliseconds: Int32) {
        var descriptor = pollfd(fd: number, events: Self.peerHasEnded, revents: 0)
        poll(&descriptor, 1, milliseconds)
    }

    /// The connection is reset when the last one lets go of the socket; nobody waits to receive from it any more.
    fileprivate func prepareReset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(number, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        shutdown(number, Int32(SHUT_RD))
    }
}
