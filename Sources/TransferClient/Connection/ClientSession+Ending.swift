import TransferIO
import TransferModel
import TransferProtocol

/// Time-outs, and the end of the connection.
extension ClientSession {
    func armTimer() {
        if let timer { run.loop.cancel(timer) }
        timer = run.loop.schedule(at: liveness.deadline.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    func timerFired() {
        timer = nil
        guard !isOver, ending == nil else { return }
        switch liveness.expire(now: .now) {
        case .nothing: break
        case .sendPing: send(.ping(0))
        case .giveUp(let fault): end(.lost(fault.message))
        }
        armTimer()
    }

    /// It has said so, which is an answer; the push goes on when it is back.
    func serverLeaves(taking acceptance: Lanes.Acceptance) {
        hasConnected = true
        run.lanes.connected()
        run.lanes.serverLeaves(taking: acceptance)
        tellProducer()
    }

    func stopTimer() {
        if let timer { run.loop.cancel(timer) }
        timer = nil
    }

    func finish() async {
        stopTimer()
        if ending == .complete { send(.goodbye(Goodbye(.committed))) }
        close()
        await run.pool.run { [producer] in producer.stop() }
        // What is still being compared is asked about again.
        questions = [:]
        switch ending {
        case .lost, .paused: break
        case .complete, .refused, .unsupported, .untrusted, .unknown, .fault, .cancelled, nil: return
        }
        run.lanes.lookups.lost()
        let lost = takeUnacknowledged()
        hasLostParts = lost.contains(where: \.isShared)
        run.feed.putBack(lost)
    }
}
