import Synchronization
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The end of an upload: first it is published, then it is signed for and recorded, then its result leaves.
extension UploadLane {
    /// From so many uploads on nobody waits for more to share a signature, and from so many bytes. To make and verify one
    /// takes as long as 50 receipts, or as 200 KB of content: with that many it hardly shows. A client may have four times
    /// as many uploads on their way.
    private static let mostUnsigned = (uploads: Limits.unacknowledgedUploads / 4, bytes: UInt64(8 << 20))

    /// Publishes what the batch completed: one sync pass for all of it.
    func publish() {
        leaveOutRepeated()
        guard !ready.isEmpty else { return }
        let outcomes = context.store.publish(
            ready.map(\.publication), acknowledged: context.known.acknowledged(at:_:),
            mayReplace: client.mayReplaceAll
                ? nil : { [context, client] path, file in context.known.hasStored(client, path, file) })
        let (now, utc) = (monotonicNanoseconds(), utcNanoseconds())
        for ((receiving, publication), outcome) in zip(ready, outcomes) {
            published.append(
                PublishedUpload(
                    receiving, publication, outcome, isDurable: context.store.durability == .commit,
                    client: client,
                    begun: utc - (now - receiving.started), at: utc))
            unsignedBytes += min(publication.size, Self.mostUnsigned.bytes)
            if case .success(.healed(let path, _)) = outcome { events.append(.healed(path, peer: peer)) }
        }
        ready.removeAll(keepingCapacity: true)
        hasCompleted = true
    }

    /// A client that lost its connection and comes again may be faster than what it sent over the first one. Then it has
    /// to come once more, and gets the acknowledgement of that.
    private func leaveOutRepeated() {
        let claiming = ready.indices.filter { ready[$0].receiving.claim != nil }
        let refused = context.known.recent.claim(claiming.compactMap { ready[$0].receiving.claim })
        for index in refused.lazy.map({ claiming[$0] }).reversed() {
            let (receiving, publication) = ready.remove(at: index)
            publication.staged.discard()
            do throws(StoreError) {
                settle(receiving, withReceipt(try receiving.acknowledgedElsewhere(publication), receiving))
            } catch {
                settle(receiving, UploadResult(error, publication.id, size: publication.size))
            }
        }
    }

    /// Whether results may wait for those of the next batch, to have one signature with them: only while each batch
    /// completes uploads and the next one is there already, so that nobody waits for longer than that takes.
    var mayWait: Bool {
        defer { hasCompleted = false }
        return issuer != nil && hasCompleted && published.count < Self.mostUnsigned.uploads
            && (outcome.isBusy || hasMore.load(ordering: .acquiring)) && unsignedBytes < Self.mostUnsigned.bytes
    }

    /// Signs for what is published, records it in one transaction, and then answers.
    func acknowledge(unless shouldWait: Bool = false) {
        guard !published.isEmpty, !shouldWait else { return }
        let receipts = issuer?.sign(&published, of: client)
        context.known.record(published.compactMap(\.entry), with: receipts)
        context.known.recent.release(published.lazy.map(\.receiving.begin.id))
        for upload in published { settle(upload.receiving, upload.result) }
        if let receipts { Message.receipts(receipts).encode(into: &outcome.frames) }
        for upload in published { if let assembly = upload.receiving.assembly { context.assemblies.remove(assembly) } }
        published.removeAll(keepingCapacity: true)
        unsignedBytes = 0
    }
}
