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

    func work(on connection: isolated Connection) async {
        let transport = client.transport
        while !connection.driver.isOver, connection.outbound.count >= (transport.isCrowded ? 1 : Self.answersAhead) {
            // Nobody waits for more than what waits already.
            guard connection.ending == nil else {
                _ = connection.pipe.take()
                // No thread is in the worker now.
                worker.abandon()
                return connection.pipe.worked()
            }
            await roomForAnswers.wait()
        }
        let room = transport.isCrowded ? Self.chunkRoom.crowded : Self.chunkRoom.usual
        let batches = connection.pipe.take()
        watching?.hasNews = false
        let isStopping = isStopping(on: connection)
        let outcome = await onPool { [worker] in worker.process(batches, room: room, isStopping: isStopping) }
        connection.driver.liveness.active(now: .now)
        answer(outcome, on: connection)
        if outcome.isWaiting, connection.ending == nil { watch(on: connection) }
        let goesOn = outcome.isBusy || outcome.isWaiting && watching?.hasNews == true
        connection.pipe.worked(leaving: goesOn && isWorthwhile(outcome, on: connection) ? .work : .nothing)
    }

    /// Whether there is still a client for which the pool can go on.
    private func isWorthwhile(_ outcome: HTTPOutcome, on connection: isolated Connection) -> Bool {
        if outcome.isForClientAlone, case .lost? = connection.ending { return false }
        return !connection.driver.isOver
    }

    private func answer(_ outcome: HTTPOutcome, on connection: isolated Connection) {
        for piece in outcome.pieces {
            switch piece {
            case .bytes(let bytes): connection.outbound.append(bytes)
            case .chunk(let chunk):
                client.progress.answered(chunk.count)
                connection.outbound.append(chunk)
            }
        }
        wire.answered(outcome.answered)
        if !outcome.pieces.isEmpty { connection.flush() }
        switch outcome.ending {
        case nil: break
        // The client has time to take it, as with every answer.
        case .said:
            wire.saidLast()
            endIfDone(on: connection)
        case .broken(let reason): connection.end(.lost(reason))
        }
    }
}

// MARK: Ending

extension HTTPSession {
    func draining(on connection: isolated Connection) {
        tell(on: connection)
        endIfDone(on: connection)
    }

    func ended(for reason: SessionEnding, on connection: isolated Connection) { roomForAnswers.fire() }

    func abandon() {}

    func farewell(for fault: ProtocolFault) -> [UInt8] { [] }

    /// Answers what was received whole. Nothing is left on the pool behind it.
    func leave(on connection: isolated Connection) async {
        unwatch()
        await connection.finishWork()
        await onPool { [worker] in _ = worker.cancel() }
        connection.stopTimer()
        stopWaitingForRest(on: connection)
    }

    /// Says the last words, and closes.
    func finish(on connection: isolated Connection) async {
        client.log(connection.ending)
        sayGoodbye(on: connection)
        await connection.linger()
    }

    /// A client that has asked has an answer to wait for, and any other client none: an answer that was not asked for would be taken
    /// for that to the next request.
    private func sayGoodbye(on connection: isolated Connection) {
        guard worker.steps.mayAnswer else { return }
        switch connection.ending {
        case .fault(let fault) where wire.owesAnswer:
            let answer = wire.fault ?? HTTPFault(fault.code.httpStatus, fault.message)
            connection.send(HTTPAnswers.last(answer, code: fault.code))
        case .shutdown where wire.unanswered > 0:
            connection.send(HTTPAnswers.last(HTTPFault(503, "The server is stopping."), code: .shuttingDown))
        case .fault, .shutdown, .refused, .lost, .done, nil: break
        }
    }
}
