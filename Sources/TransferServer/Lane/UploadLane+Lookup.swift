import TransferCatalog
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// What was acknowledged before, for a client that asks before it sends.
extension UploadLane {
    /// Answers at once: the client may hold back what it has to send.
    func answer(_ lookup: Lookup) {
        let started = monotonicNanoseconds()
        var results: [UploadResult] = []
        var unknown: [UploadID] = []
        let hasRotten = context.known.hasRotten
        for id in lookup.ids {
            if outcome.refusal == nil,
                let entry = context.acknowledgement(
                    of: client.inner(id), lookup.digest, for: client, hasRotten: hasRotten)
            {
                results.append(answer(entry))
            } else {
                unknown.append(id)
            }
        }
        issuer?.addReceipts(to: &results, for: client)
        var frames: [UInt8] = []
        for result in results {
            Message.result(client.outer(result)).encode(into: &frames)
            events.append(.settled(result, path: result.storedPath ?? "", started: started, peer: peer))
        }
        if !unknown.isEmpty { Message.unknown(unknown).encode(into: &frames) }
        early.send(frames, settled: lookup.ids)
    }

    /// The client has named no path, so it is told where the content is.
    private func answer(_ entry: CatalogEntry) -> UploadResult {
        var result = UploadResult(again: entry, run: run, path: "")
        result.kind = entry.kind
        return result
    }
}
