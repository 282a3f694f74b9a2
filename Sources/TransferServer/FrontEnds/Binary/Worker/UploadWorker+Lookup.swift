import TransferIntake
import TransferModel
import TransferProtocol

/// What was acknowledged before, for a client that asks before it sends.
extension UploadWorker {
    /// Answers at once: the client may hold back what it has to send.
    ///
    /// - Returns: what is to be answered later, because files are read for it: others have their turn first.
    func answer(_ lookup: Lookup) -> Lookup? {
        let found = intake.lookup(lookup.ids.map(intake.caller.inner), lookup.digest)
        let ids = Array(lookup.ids.prefix(found.count))
        var frames: [UInt8] = []
        var unknown: [UploadID] = []
        for (id, acknowledgement) in zip(ids, found) {
            guard let acknowledgement else {
                unknown.append(id)
                continue
            }
            let outcome = UploadOutcome.acknowledged(acknowledgement)
            // The client has named no path and no kind, so it is told both.
            var result = UploadResult(outcome, of: id, askedFor: nil, by: intake.caller)
            result.kind = acknowledgement.kind
            Message.result(result).encode(into: &frames)
        }
        let known = found.count - unknown.count
        if known > 0 { uploads.events.append(.known(known, peer: uploads.peer)) }
        if !unknown.isEmpty { Message.unknown(unknown).encode(into: &frames) }
        early.send(frames, settled: ids)
        guard !found.isEmpty, ids.count < lookup.ids.count else { return nil }
        return Lookup(Array(lookup.ids.dropFirst(ids.count)), digest: lookup.digest)
    }
}
