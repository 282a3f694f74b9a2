import TransferCatalog
import TransferProtocol
import TransferStore
import TransferSystem

/// What was acknowledged before, for a client that asks before it sends.
extension UploadLane {
    /// Answers at once: the client may hold back what it has to send. No stored file is read, so that a few bytes of
    /// questions cannot cost more than a look at each file; one that only reading could vouch for counts as unknown.
    func answer(_ lookup: Lookup) {
        let started = monotonicNanoseconds()
        var results: [UploadResult] = []
        var unknown: [UploadID] = []
        for id in lookup.ids {
            if outcome.refusal == nil,
                let entry = context.acknowledgement(of: client.inner(id), lookup.digest, for: client)
            {
                results.append(answer(entry))
            } else {
                unknown.append(id)
            }
        }
        issuer?.addMissingReceipts(to: &results, for: client)
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
        if issuer == nil { result.receipt = nil }
        return result
    }
}

extension ServerContext {
    /// - Returns: nothing unless the stored file is surely the one that was acknowledged, by its identity alone.
    fileprivate func acknowledgement(
        of id: UploadID, _ function: DigestFunction, for client: ClientView
    ) -> CatalogEntry? {
        guard let entry = known.entry(for: id), entry.digest?.algorithm.function == function,
            let path = try? RelativePath(entry.path), client.sees(path), let identity = store.identity(at: path),
            holds(entry, identity)
        else { return nil }
        return entry
    }

    /// Whether an acknowledgement still promises all that a new one would, by what stands under its path.
    func holds(_ entry: CatalogEntry, _ identity: FileIdentity) -> Bool {
        identity == entry.identity && (entry.isDurable || store.durability != .commit)
    }
}
