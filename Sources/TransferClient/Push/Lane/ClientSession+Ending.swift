import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// The end of the connection.
extension ClientSession {
    /// It has said so, which is an answer; the push goes on when it is back.
    func serverLeaves(taking acceptance: Lanes.Acceptance) {
        hasConnected = true
        run.lanes.connected()
        run.lanes.serverLeaves(taking: acceptance)
        tellProducer()
    }

    func finish() async {
        stopTimer()
        if ending == .complete { send(.goodbye(Goodbye(.committed))) }
        close()
        await run.pool.run { [producer] in producer.stop() }
        // What is still being compared is asked about again.
        uploads.questions = [:]
        switch ending {
        case .lost, .paused: break
        case .complete, .refused, .unsupported, .untrusted, .unknown, .fault, .cancelled, nil: return
        }
        run.lanes.lookups.lost()
        let lost = takeUnacknowledged()
        // A server that has said goodbye has nothing left of this connection.
        hasLostParts = !isLeaving && (uploads.isTooOld || lost.contains(where: \.isShared))
        run.feed.putBack(lost)
    }
}
