package import TransferModel

/// Decides from the times of what was sent and received when to send a ping and when to give a peer up. Used by both
/// sides; the time is an argument of every call.
package struct Liveness: Sendable {
    /// The time-outs of one side.
    package struct Timeouts: Equatable, Sendable {
        /// From the connection to the end of the handshake.
        package var handshake = Interval.seconds(10)
        /// A side that has sent nothing for so long sends a ping.
        package var heartbeat = Interval.seconds(5)
        /// A peer that has sent nothing for so long is given up.
        package var silence = Interval.seconds(20)
        /// A peer is given up if it owes an answer and sends nothing of it for this long, even if it gives signs of life.
        package var answer = Interval(nanoseconds: .max)
        /// A connection without uploads for so long is closed.
        package var idle = Interval.seconds(600)
        /// A connection on which nothing is asked for so long keeps as little as it can, where what is spoken allows that.
        package var rest = Interval.seconds(2)
        /// Bytes per second below which an upload of known size is given up; 0 for none.
        package var minimumRate: UInt64 = 0

        package init() {}
    }

    /// The minimum rate is taken over this long, so that a short stall on a bad link is forgiven.
    package static let rateWindow = Interval.seconds(30)

    /// What to do when a deadline has passed.
    package enum Expiry: Equatable, Sendable {
        case nothing
        case sendPing
        /// Give the peer up; the fault says why.
        case giveUp(ProtocolFault)
    }

    package var timeouts: Timeouts

    private let start: MonotonicTime
    private var isEstablished = false
    private var lastReceived: MonotonicTime
    private var lastSent: MonotonicTime
    private var lastActive: MonotonicTime
    /// Since when this side does not read; nil while it reads.
    private var pausedSince: MonotonicTime?
    /// Since when the peer owes an answer, or the last piece of one came; nil while it owes none.
    private var owesSince: MonotonicTime?
    private var rate: (since: MonotonicTime, bytes: UInt64)?

    package init(_ timeouts: Timeouts, now: MonotonicTime) {
        self.timeouts = timeouts
        start = now
        lastReceived = now
        lastSent = now
        lastActive = now
    }

    /// The handshake is done.
    package mutating func established(now: MonotonicTime) {
        isEstablished = true
        lastActive = now
    }

    /// Bytes arrived, of whatever kind.
    package mutating func received(_ bytes: Int, now: MonotonicTime) {
        lastReceived = now
        rate?.bytes &+= UInt64(bytes)
    }

    /// What was received stands for more than its own bytes.
    package mutating func receivedWorth(_ bytes: Int) {
        rate?.bytes &+= UInt64(max(0, bytes))
    }

    /// Bytes were given to the kernel.
    package mutating func sent(now: MonotonicTime) {
        lastSent = now
    }

    /// An upload made progress or ended: the connection is in use.
    package mutating func active(now: MonotonicTime) {
        lastActive = now
    }

    /// From now on (or no longer) the peer owes an answer.
    package mutating func expectAnswer(_ isExpected: Bool, now: MonotonicTime) {
        guard isExpected != (owesSince != nil) else { return }
        owesSince = isExpected ? now : nil
    }

    /// A part of an answer arrived, or more content was sent that the answer will be about.
    package mutating func answered(now: MonotonicTime) {
        if owesSince != nil { owesSince = now }
    }

    /// From now on (or no longer) the minimum rate applies.
    package mutating func expectRate(_ isExpected: Bool, now: MonotonicTime) {
        guard timeouts.minimumRate > 0, isExpected != (rate != nil) else { return }
        rate = isExpected ? (now, 0) : nil
    }

    private var isReadingPaused: Bool { pausedSince != nil }

    /// While this side doesn't read, the peer cannot be blamed for silence. What it owes is as old afterwards as it was before: a peer can
    /// have this side pause by sending much of something else.
    package mutating func pauseReading(_ isPaused: Bool, now: MonotonicTime) {
        guard isPaused != isReadingPaused else { return }
        if let pausedSince, let owed = owesSince { owesSince = owed + (now - max(owed, pausedSince)) }
        pausedSince = isPaused ? now : nil
        lastReceived = now
        if rate != nil { rate = (now, 0) }
    }

    /// When the connection was used last, or anything said or heard on it.
    package var quietSince: MonotonicTime { max(lastReceived, lastSent, lastActive) }

    /// When `expire` wants to be called next.
    package var deadline: MonotonicTime {
        guard isEstablished else { return start + timeouts.handshake }
        var deadline = min(lastSent + timeouts.heartbeat, lastActive + timeouts.idle)
        guard !isReadingPaused else { return deadline }
        deadline = min(deadline, lastReceived + timeouts.silence)
        if let owesSince { deadline = min(deadline, owesSince + timeouts.answer) }
        if let rate { deadline = min(deadline, rate.since + Self.rateWindow) }
        return deadline
    }

    /// Looks which deadline has passed.
    package mutating func expire(now: MonotonicTime) -> Expiry {
        guard isEstablished else {
            guard now >= start + timeouts.handshake else { return .nothing }
            return giveUp("The handshake was not done", timeouts.handshake)
        }
        if !isReadingPaused, now >= lastReceived + timeouts.silence {
            return giveUp("Nothing was heard from the peer", timeouts.silence)
        }
        if let owesSince, !isReadingPaused, now >= owesSince + timeouts.answer {
            return giveUp("The peer gave signs of life and no answer", timeouts.answer)
        }
        if now >= lastActive + timeouts.idle {
            return giveUp("The connection was not used", timeouts.idle)
        }
        if let fault = expireRate(now: now) { return .giveUp(fault) }
        guard now >= lastSent + timeouts.heartbeat else { return .nothing }
        lastSent = now
        return .sendPing
    }

    private mutating func expireRate(now: MonotonicTime) -> ProtocolFault? {
        guard let rate, !isReadingPaused, now >= rate.since + Self.rateWindow else { return nil }
        let wanted = Double(timeouts.minimumRate) * Self.rateWindow.seconds
        self.rate = (now, 0)
        guard Double(rate.bytes) < wanted else { return nil }
        return ProtocolFault(
            .timedOut,
            "The upload made less than \(timeouts.minimumRate) bytes a second for \(Self.rateWindow.seconds) seconds.")
    }

    private func giveUp(_ what: String, _ interval: Interval) -> Expiry {
        .giveUp(ProtocolFault(.timedOut, "\(what) within \(interval.seconds.shown(decimals: 1)) seconds."))
    }
}
