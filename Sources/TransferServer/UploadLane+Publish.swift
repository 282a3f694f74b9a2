import Synchronization
import TransferCatalog
import TransferProtocol
import TransferStore
import TransferSystem

/// The end of an upload: first it is published, then it is signed for and recorded, then its result leaves.
extension UploadLane {
    /// From so many uploads on nobody waits for more to share a signature. To make and verify one takes as long as 20
    /// receipts: with 256 it hardly shows, and the results of more would no longer fit into one send.
    private static let mostUnsigned = 256

    /// Publishes what the batch completed: one sync pass for all of it.
    func publish() {
        guard !ready.isEmpty else { return }
        let outcomes = context.store.publish(ready.map(\.publication))
        let (now, utc) = (monotonicNanoseconds(), utcNanoseconds())
        for ((receiving, publication), outcome) in zip(ready, outcomes) {
            published.append(
                PublishedUpload(
                    receiving, publication, outcome, isDurable: context.store.durability == .commit,
                    sender: client.sender,
                    begun: utc - (now - receiving.started), at: utc))
        }
        ready.removeAll(keepingCapacity: true)
        hasCompleted = true
    }

    /// Whether results may wait for those of the next batch, to have one signature with them: only while each batch
    /// completes uploads and the next one is there already, so that nobody waits for longer than that takes.
    var mayWait: Bool {
        defer { hasCompleted = false }
        return issuer != nil && hasCompleted && published.count < Self.mostUnsigned
            && hasMore.load(ordering: .acquiring)
    }

    /// Gives what is published its receipts, records it in one transaction, and then answers.
    func acknowledge(unless shouldWait: Bool = false) {
        guard !published.isEmpty, !shouldWait else { return }
        issuer?.addReceipts(to: &published, for: client)
        context.known.record(published.compactMap(\.entry))
        for upload in published { settle(upload.receiving, upload.result) }
        for upload in published { if let assembly = upload.receiving.assembly { context.assemblies.remove(assembly) } }
        published.removeAll(keepingCapacity: true)
    }

    /// Enters an upload whose content an earlier server has published and not recorded.
    func recordFound(_ receiving: Receiving, _ result: UploadResult, _ identity: FileIdentity) {
        let now = utcNanoseconds()
        context.known.record([
            CatalogEntry(
                id: result.id, state: .alreadyStored, path: result.storedPath ?? receiving.begin.path,
                kind: receiving.begin.kind, size: result.size, digest: result.digest, isDurable: result.isDurable,
                sender: client.sender, begun: now, committed: now, run: run, identity: identity)
        ])
    }
}
