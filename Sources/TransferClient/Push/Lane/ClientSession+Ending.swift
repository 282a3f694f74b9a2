import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// Ending the connection, or preparing for its end.
extension ClientSession {
    /// Notes that the server is stopping. That counts as an answer; the push continues when the server is back.
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
        // Comparisons under way no longer count, because the server is asked again.
        uploads.questions = [:]
        switch ending {
        case .lost, .paused: break
        case .complete, .refused, .unsupported, .untrusted, .unknown, .fault, .cancelled, nil: return
        }
        run.lanes.lookups.lost()
        let lost = takeUnacknowledged()
        // A server that has said goodbye keeps no parts for this connection.
        hasLostParts = !isLeaving && (uploads.isTooOld || lost.contains(where: \.isShared))
        run.feed.putBack(lost)
    }
}
