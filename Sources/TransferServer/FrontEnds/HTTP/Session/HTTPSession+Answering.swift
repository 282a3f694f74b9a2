import Synchronization
import TransferConnection
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol

/// Answers, which the pool makes one after the other, and the last words.
extension HTTPSession {
    /// Bytes of answers that may wait for the client before more are made: a chunk and what is left of the one before it.
    private static let answersAhead = 3 * Transport.chunkSize / 2

    /// Bytes of content in one chunk, also where too much waits for all clients together.
    private static let chunkRoom = (usual: Transport.chunkSize, crowded: 32 << 10)

    func work() async {
        while !driver.isOver, outbound.count >= (transport.isCrowded ? 1 : Self.answersAhead) {
            // Nobody waits for more than what waits already.
            guard ending == nil else { return abandon() }
            await roomForAnswers.wait()
        }
        let room = transport.isCrowded ? Self.chunkRoom.crowded : Self.chunkRoom.usual
        let batches = pipe.take()
        watching?.hasNews = false
        let isStopping = isDraining || intake.isStopping.load(ordering: .relaxed)
        let outcome = await transport.pool.run(for: account) { [worker] in
            worker.process(batches, room: room, isStopping: isStopping)
        }
        driver.liveness.active(now: .now)
        answer(outcome)
        if outcome.isWaiting, ending == nil { watch() }
        let goesOn = outcome.isBusy || outcome.isWaiting && watching?.hasNews == true
        pipe.worked(leaving: goesOn && isWorthwhile(outcome) ? .work : .nothing)
    }

    /// Whether there is somebody for whom the pool can go on.
    private func isWorthwhile(_ outcome: HTTPOutcome) -> Bool {
        if outcome.isForClientAlone, case .lost? = ending { return false }
        return !driver.isOver
    }

    private func abandon() {
        _ = pipe.take()
        // No thread is in the worker now.
        worker.abandon()
        pipe.worked()
    }

    private func answer(_ outcome: HTTPOutcome) {
        unanswered -= min(unanswered, outcome.answered)
        for piece in outcome.pieces {
            switch piece {
            case .bytes(let bytes): outbound.append(bytes)
            case .chunk(let chunk):
                progress.answered(chunk.count)
                outbound.append(chunk)
            }
        }
        if !outcome.pieces.isEmpty { flush() }
        switch outcome.ending {
        case nil: break
        // The client has time to take it, as with every answer.
        case .said:
            hasSaidLast = true
            endIfDone()
        case .broken(let reason): end(.lost(reason))
        }
    }

    /// Answers what was received whole. Nothing is left on the pool behind it.
    func leave() async {
        unwatch()
        await finishWork()
        await transport.pool.run(for: account) { [worker] in worker.leave() }
        stopTimer()
        if let restTimer { loop.cancel(restTimer) }
    }

    /// Says the last words, and closes.
    func finish() async {
        sayGoodbye()
        await linger()
        close()
    }

    /// Whoever asks has an answer of his own to wait for, or none: an answer that nobody has asked for would be taken for that
    /// to the next request.
    private func sayGoodbye() {
        // What goes wrong in content whose request has its answer already is nobody's question.
        let isOwed = isTurningAway || unanswered > 0 || !hasSaidLast && !isInContent && !reader.isBetweenRequests
        switch ending {
        case .fault(let fault):
            observability.log.write([.refused(peer: peer, fault)])
            let answer = self.fault ?? HTTPFault(fault.code.httpStatus, fault.message)
            if isOwed, worker.mayAnswer { send(HTTPAnswers.last(answer, code: fault.code)) }
        case .refused(let refusal):
            observability.log.write([.notAdmitted(peer: peer, refusal)])
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            if unanswered > 0, worker.mayAnswer {
                send(HTTPAnswers.last(HTTPFault(503, "The server is stopping."), code: .shuttingDown))
            }
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}
