package import TransferModel

/// Decides when to send a ping and when to disconnect a peer, from the times at which bytes were sent and received.
/// Both sides use it; the time is an argument of every call.
package struct Liveness: Sendable {
    /// The timeouts of one side of a connection.
    package struct Timeouts: Equatable, Sendable {
        /// The time from the beginning of the connection to the end of the handshake.
        package var handshake = Interval.seconds(10)
        /// A side that has sent no bytes for this long sends a ping.
        package var heartbeat = Interval.seconds(5)
        /// A peer that has sent no bytes for this long is disconnected.
        package var silence = Interval.seconds(20)
        /// A peer is disconnected if it owes an answer and sends no part of it for this long, even if it sends pings.
        package var answer = Interval(nanoseconds: .max)
        /// A connection without uploads for this long is closed.
        package var idle = Interval.seconds(600)
        /// A connection without requests for this long is kept with little memory, if its wire permits that.
        package var rest = Interval.seconds(2)
        /// Fewest bytes per second of an upload of known size; a slower one is ended. 0 for no minimum.
        package var minimumRate: UInt64 = 0

        package init() {}
    }

    /// Interval over which the minimum rate is measured, so that a short stall of a bad link has no effect.
    package static let rateWindow = Interval.seconds(30)

    /// What the session has to do about a deadline that has passed.
    package enum Expiry: Equatable, Sendable {
        case nothing
        case sendPing
        /// Disconnect the peer, for the reason in the fault.
        case giveUp(ProtocolFault)
    }

    package var timeouts: Timeouts

    private let start: MonotonicTime
    private var isEstablished = false
    private var lastReceived: MonotonicTime
    private var lastSent: MonotonicTime
    private var lastActive: MonotonicTime
    /// Time at which this side stopped reading; nil while it reads.
    private var pausedSince: MonotonicTime?
    /// Time since which the peer owes an answer, or at which the last part of the answer arrived; nil if the peer owes
    /// no answer.
    private var owesSince: MonotonicTime?
    private var rate: (since: MonotonicTime, bytes: UInt64)?

    package init(_ timeouts: Timeouts, now: MonotonicTime) {
        self.timeouts = timeouts
        start = now
        lastReceived = now
        lastSent = now
        lastActive = now
    }

    /// Ends the handshake: from now on the other timeouts apply.
    package mutating func established(now: MonotonicTime) {
        isEstablished = true
        lastActive = now
    }

    /// Records bytes of any kind that arrived.
    package mutating func received(_ bytes: Int, now: MonotonicTime) {
        lastReceived = now
        rate?.bytes &+= UInt64(bytes)
    }

    /// Adds to the measured rate what content has in addition to its bytes on the wire.
    package mutating func receivedWorth(_ bytes: Int) {
        rate?.bytes &+= UInt64(max(0, bytes))
    }

    /// Records that the kernel has taken bytes to send.
    package mutating func sent(now: MonotonicTime) {
        lastSent = now
    }

    /// Records that an upload made progress or ended, so that the connection is in use.
    package mutating func active(now: MonotonicTime) {
        lastActive = now
    }

    /// Sets whether the peer owes an answer.
    package mutating func expectAnswer(_ isExpected: Bool, now: MonotonicTime) {
        guard isExpected != (owesSince != nil) else { return }
        owesSince = isExpected ? now : nil
    }

    /// Restarts the timeout of the answer, because a part of the answer arrived, or because more content was sent that
    /// the answer will be about.
    package mutating func answered(now: MonotonicTime) {
        if owesSince != nil { owesSince = now }
    }

    /// Sets whether the minimum rate applies.
    package mutating func expectRate(_ isExpected: Bool, now: MonotonicTime) {
        guard timeouts.minimumRate > 0, isExpected != (rate != nil) else { return }
        rate = isExpected ? (now, 0) : nil
    }

    private var isReadingPaused: Bool { pausedSince != nil }

    /// Sets whether this side has stopped reading. Meanwhile the timeouts of silence, answer and rate do not run. The
    /// timeout of the answer continues afterwards and does not start again: otherwise a peer could postpone it by
    /// sending many other bytes, which makes this side pause.
    package mutating func pauseReading(_ isPaused: Bool, now: MonotonicTime) {
        guard isPaused != isReadingPaused else { return }
        if let pausedSince, let owed = owesSince { owesSince = owed + (now - max(owed, pausedSince)) }
        pausedSince = isPaused ? now : nil
        lastReceived = now
        if rate != nil { rate = (now, 0) }
    }

    /// Time of the last activity: sending, receiving or use.
    package var quietSince: MonotonicTime { max(lastReceived, lastSent, lastActive) }

    /// Time at which `expire` must be called next.
    package var deadline: MonotonicTime {
        guard isEstablished else { return start + timeouts.handshake }
        var deadline = min(lastSent + timeouts.heartbeat, lastActive + timeouts.idle)
        guard !isReadingPaused else { return deadline }
        deadline = min(deadline, lastReceived + timeouts.silence)
        if let owesSince { deadline = min(deadline, owesSince + timeouts.answer) }
        if let rate { deadline = min(deadline, rate.since + Self.rateWindow) }
        return deadline
    }

    /// Finds a deadline that has passed.
    package mutating func expire(now: MonotonicTime) -> Expiry {
        guard isEstablished else {
            guard now >= start + timeouts.handshake else { return .nothing }
            return giveUp("The handshake was not finished", timeouts.handshake)
        }
        if !isReadingPaused, now >= lastReceived + timeouts.silence {
            return giveUp("Nothing was heard from the peer", timeouts.silence)
        }
        if let owesSince, !isReadingPaused, now >= owesSince + timeouts.answer {
            return giveUp("The peer was reachable but sent no answer", timeouts.answer)
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
