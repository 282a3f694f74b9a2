import Testing
import TransferModel
import TransferProtocol

/// Times are virtual: seconds since the connection began.
@Suite struct LivenessTests {
    @Test func handshakeHasOneDeadline() {
        var liveness = Liveness(.init(), now: at(100))
        #expect(liveness.deadline == at(110))
        // Bytes that arrive slowly do not move the deadline.
        liveness.received(1, now: at(109))
        liveness.sent(now: at(109))
        #expect(liveness.deadline == at(110))
        #expect(liveness.expire(now: at(109.999)) == .nothing)
        #expect(givesUp(&liveness, at(110)))
    }

    @Test func pingsAtEachHeartbeatOfOwnSilence() {
        var liveness = established()
        var pings: [Double] = []
        for second in 1...17 {
            liveness.received(1, now: at(Double(second)))
            if liveness.expire(now: at(Double(second))) == .sendPing {
                pings.append(Double(second))
                liveness.sent(now: at(Double(second)))
            }
        }
        #expect(pings == [5, 10, 15])
        liveness.sent(now: at(17))
        #expect(liveness.deadline == at(22))
        #expect(liveness.expire(now: at(21.9)) == .nothing)
        #expect(liveness.expire(now: at(22)) == .sendPing)
    }

    /// A ping that waits in a full socket must not be sent again at once.
    @Test func pingThatCouldNotLeaveIsNotRepeatedAtOnce() {
        var liveness = established()
        liveness.received(1, now: at(5))
        #expect(liveness.expire(now: at(5)) == .sendPing)
        #expect(liveness.expire(now: at(5)) == .nothing)
        #expect(liveness.deadline == at(10))
    }

    @Test func silentPeerIsGivenUp() {
        var liveness = established()
        liveness.received(1, now: at(3))
        for second in [5, 10, 15, 20] as [Double] { #expect(liveness.expire(now: at(second)) == .sendPing) }
        #expect(liveness.deadline == at(23))
        #expect(liveness.expire(now: at(22.9)) == .nothing)
        #expect(givesUp(&liveness, at(23)))
    }

    /// The peer is given up even if it sends other bytes.
    @Test func aPeerThatOwesAnAnswerIsGivenUp() {
        var liveness = established { $0.answer = .seconds(60) }
        for second in stride(from: 5, through: 300, by: 5) as StrideThrough<Double> {
            liveness.received(15, now: at(second))
            #expect(liveness.expire(now: at(second)) == .sendPing)
        }
        liveness.expectAnswer(true, now: at(300))
        // A second call does not move the start of the wait, and a part of an answer counts as progress.
        liveness.expectAnswer(true, now: at(310))
        liveness.answered(now: at(320))
        for second in stride(from: 325, to: 380, by: 5) as StrideTo<Double> {
            liveness.received(15, now: at(second))
            #expect(liveness.expire(now: at(second)) == .sendPing)
        }
        liveness.received(15, now: at(379))
        #expect(liveness.deadline == at(380))
        #expect(givesUp(&liveness, at(380)))
    }

    @Test func aPeerThatOwesNothingIsNotGivenUp() {
        var liveness = established { $0.answer = .seconds(60) }
        liveness.answered(now: at(1))
        liveness.expectAnswer(true, now: at(2))
        liveness.expectAnswer(false, now: at(50))
        liveness.received(1, now: at(199))
        #expect(!givesUp(&liveness, at(200)))
        // While this side reads no answers, it does not give the peer up either.
        liveness.expectAnswer(true, now: at(200))
        liveness.pauseReading(true, now: at(210))
        #expect(!givesUp(&liveness, at(400)))
        liveness.pauseReading(false, now: at(400))
        // The ten seconds for which the peer had owed an answer before the pause still count. If they did not, a peer
        // could cause pauses and never be given up.
        liveness.received(1, now: at(449))
        #expect(!givesUp(&liveness, at(449.9)))
        #expect(givesUp(&liveness, at(450)))
    }

    /// An answer during the pause starts the wait again, and the rest of the pause does not count.
    @Test func anAnswerInAPauseIsAnswered() {
        var liveness = established { $0.answer = .seconds(60) }
        liveness.expectAnswer(true, now: at(0))
        liveness.pauseReading(true, now: at(50))
        liveness.answered(now: at(100))
        liveness.pauseReading(false, now: at(200))
        liveness.received(1, now: at(259))
        #expect(!givesUp(&liveness, at(259.9)))
        #expect(givesUp(&liveness, at(260)))
    }

    @Test func idleConnectionIsClosedThoughItPings() {
        var liveness = established()
        liveness.active(now: at(7))
        for second in stride(from: 10, to: 607, by: 5) as StrideTo<Double> {
            liveness.received(15, now: at(second))
            #expect(liveness.expire(now: at(second)) == .sendPing)
        }
        liveness.received(15, now: at(606))
        #expect(liveness.deadline == at(607))
        #expect(givesUp(&liveness, at(607)))
    }

    @Test func establishingCountsAsUse() {
        var liveness = Liveness(.init(), now: at(0))
        liveness.established(now: at(9))
        liveness.received(1, now: at(608))
        liveness.sent(now: at(608))
        #expect(liveness.expire(now: at(608.9)) == .nothing)
        #expect(givesUp(&liveness, at(609)))
    }

    @Test func peerIsNotBlamedWhileReadingIsPaused() {
        var liveness = established()
        liveness.received(1, now: at(1))
        liveness.pauseReading(true, now: at(2))
        liveness.sent(now: at(99))
        #expect(liveness.deadline == at(104))
        #expect(liveness.expire(now: at(100)) == .nothing)
        // After the pause the peer has the whole time again; a second call to end the pause changes nothing.
        liveness.pauseReading(false, now: at(100))
        liveness.pauseReading(false, now: at(110))
        liveness.sent(now: at(119))
        #expect(liveness.expire(now: at(119.9)) == .nothing)
        #expect(givesUp(&liveness, at(120)))
    }

    @Test func pausedConnectionIsStillClosedWhenIdle() {
        var liveness = established()
        liveness.pauseReading(true, now: at(1))
        liveness.sent(now: at(599))
        #expect(liveness.deadline == at(600))
        #expect(givesUp(&liveness, at(600)))
    }

    @Test func slowUploadIsGivenUpAfterAWindow() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(2))
        keepTalking(&liveness, from: 3, to: 31, bytes: 1_000)
        #expect(liveness.deadline == at(32))
        liveness.received(1_000, now: at(32))
        #expect(givesUp(&liveness, at(32)))
    }

    @Test func fastEnoughUploadGoesOn() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(0))
        keepTalking(&liveness, from: 1, to: 90, bytes: 1_024)
    }

    /// A few bytes can stand for many, for example a hole.
    @Test func whatIsWorthMoreCountsMore() {
        var liveness = established(minimumRate: 1_024)
        liveness.receivedWorth(1 << 30)
        liveness.expectRate(true, now: at(0))
        keepTalking(&liveness, from: 1, to: 29, bytes: 11)
        liveness.receivedWorth(30 * 1_024)
        keepTalking(&liveness, from: 30, to: 59, bytes: 11)
        #expect(givesUp(&liveness, at(60)))
    }

    @Test func everyWindowCountsForItself() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(0))
        liveness.received(1 << 30, now: at(1))
        keepTalking(&liveness, from: 2, to: 59, bytes: 1)
        #expect(givesUp(&liveness, at(60)))
    }

    @Test func rateDoesNotMatterOutsideUploads() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(0))
        liveness.expectRate(false, now: at(5))
        keepTalking(&liveness, from: 6, to: 100, bytes: 1)
        // A new upload has a new window.
        liveness.expectRate(true, now: at(100))
        keepTalking(&liveness, from: 101, to: 129, bytes: 1)
        #expect(givesUp(&liveness, at(130)))
    }

    @Test func expectingTwiceDoesNotStretchTheWindow() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(0))
        liveness.expectRate(true, now: at(20))
        keepTalking(&liveness, from: 21, to: 29, bytes: 1)
        #expect(givesUp(&liveness, at(30)))
    }

    @Test func pauseStartsTheWindowAgain() {
        var liveness = established(minimumRate: 1_024)
        liveness.expectRate(true, now: at(0))
        liveness.pauseReading(true, now: at(10))
        #expect(liveness.expire(now: at(50)) == .sendPing)
        liveness.pauseReading(false, now: at(50))
        keepTalking(&liveness, from: 51, to: 79, bytes: 1)
        #expect(givesUp(&liveness, at(80)))
    }

    @Test func noMinimumRateUnlessAsked() {
        var liveness = established()
        liveness.expectRate(true, now: at(0))
        keepTalking(&liveness, from: 1, to: 100, bytes: 1)
    }

    @Test func hugeTimeoutsMeanNever() {
        var timeouts = Liveness.Timeouts()
        timeouts.heartbeat = .seconds(.infinity)
        timeouts.silence = .seconds(.infinity)
        timeouts.idle = .seconds(.infinity)
        var liveness = Liveness(timeouts, now: at(1))
        liveness.established(now: at(1))
        #expect(liveness.deadline == MonotonicTime(nanoseconds: .max))
        #expect(liveness.expire(now: at(1e9)) == .nothing)
    }

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .seconds(seconds)
    }

    private func established(
        minimumRate: UInt64 = 0, _ change: (inout Liveness.Timeouts) -> Void = { _ in }
    ) -> Liveness {
        var timeouts = Liveness.Timeouts()
        timeouts.minimumRate = minimumRate
        change(&timeouts)
        var liveness = Liveness(timeouts, now: at(0))
        liveness.established(now: at(0))
        return liveness
    }

    private func givesUp(_ liveness: inout Liveness, _ now: MonotonicTime) -> Bool {
        guard case .giveUp(let fault) = liveness.expire(now: now) else { return false }
        return fault.code == .timedOut
    }

    /// Receives `bytes` bytes in every second; no deadline may expire.
    private func keepTalking(_ liveness: inout Liveness, from: Int, to: Int, bytes: Int) {
        for second in from...to {
            let now = at(Double(second))
            liveness.received(bytes, now: now)
            liveness.sent(now: now)
            #expect(liveness.expire(now: now) == .nothing, "at \(second) s")
        }
    }
}
