import TransferModel
import TransferPorts
import TransferReceipts

/// Makes the receipts of acknowledgements that are given again.
package struct RepeatedReceipts {
    private let known: KnownUploads

    /// The issuer; nil if the client wants no receipts or the server gives none.
    var issuer: ReceiptIssuer?

    /// The batch of receipts that was made again last. A client that repeats one upload usually repeats others in the
    /// same batch.
    private var last: ReceiptBatch?

    init(_ known: KnownUploads) {
        self.known = known
    }

    /// - Returns: the acknowledgement with a receipt, if the client wants any: for a replay in the same push the
    ///   original one, otherwise a new one.
    mutating func added(to acknowledgement: Acknowledgement, of caller: Caller, run: UInt64?) -> Acknowledgement {
        guard let issuer else { return acknowledgement }
        var acknowledgement = acknowledgement
        acknowledgement.receipt = earlier(acknowledgement.id, run, by: issuer, for: caller)
        if acknowledgement.receipt == nil, let upload = ReceiptIssuer.Acknowledged(acknowledgement, for: caller) {
            acknowledgement.receipt = issuer.issue([upload], sender: caller.sender).encoded(0)
        }
        return acknowledgement
    }

    /// - Parameter entry: the entry of the acknowledged upload.
    /// - Returns: the original receipt if it can be made again, otherwise a new one; nil if there can be none for the
    ///   upload.
    mutating func made(
        for acknowledgement: Acknowledgement, of entry: CatalogEntry, by issuer: ReceiptIssuer, for caller: Caller
    ) -> [UInt8]? {
        if let receipt = earlier(entry.id, entry.run, by: issuer, for: caller) { return receipt }
        // The receipt names the client that sent the upload, whichever client asks.
        return ReceiptIssuer.Acknowledged(acknowledgement, for: caller)
            .map { issuer.issue([$0], sender: entry.sender).encoded(0) }
    }

    /// Adds a new receipt to each acknowledgement; all of them share one signature.
    func add(to acknowledgements: inout [Acknowledgement?], of caller: Caller) {
        guard let issuer else { return }
        let wanted = acknowledgements.map { $0.flatMap { ReceiptIssuer.Acknowledged($0, for: caller) } }
        let uploads = wanted.compactMap(\.self)
        guard !uploads.isEmpty else { return }
        let batch = issuer.issue(uploads, sender: caller.sender)
        var next = 0
        for (index, upload) in wanted.enumerated() where upload != nil {
            acknowledgements[index]?.receipt = batch.encoded(next)
            next += 1
        }
    }

    /// Makes the original receipt of an upload again.
    ///
    /// - Returns: nil for an upload of another push or without a receipt, and if another upload in the batch has
    ///   changed, because the signature covers the whole batch.
    private mutating func earlier(
        _ id: UploadID, _ run: UInt64?, by issuer: ReceiptIssuer, for caller: Caller
    ) -> [UInt8]? {
        guard let entry = known.entry(for: id), let number = entry.receipt, entry.run == run else { return nil }
        if let receipt = last?.encoded(number: number) { return receipt }
        last = known.signed(with: number).flatMap { issuer.issue(again: $0, for: caller) }
        return last?.encoded(number: number)
    }
}

/// Uploads whose receipts share one signature, as they were acknowledged.
struct SignedEntries {
    let signedBatch: SignedBatch

    /// Ordered by the numbers of their receipts.
    let entries: [CatalogEntry]
}

extension ReceiptIssuer {
    /// Makes the receipts of a signed batch again.
    ///
    /// - Returns: nil if any of the uploads has changed since.
    fileprivate func issue(again receipts: SignedEntries, for caller: Caller) -> ReceiptBatch? {
        issue(again: receipts.signedBatch, for: receipts.entries.compactMap { Acknowledged($0, for: caller) })
    }
}

extension ReceiptIssuer.Acknowledged {
    /// The upload as the client knows it.
    ///
    /// - Returns: nil if no receipt can be given for it.
    init?(_ stored: CommitPipeline.Published.Stored, _ kind: ContentKind, for caller: Caller) {
        guard stored.isDurable, let path = caller.clientPath(stored.path) else { return nil }
        self.init(
            uploadID: caller.outer(stored.entry.id), path: path, kind: kind, size: stored.size, digest: stored.digest,
            result: stored.isNew ? .committed : .alreadyStored)
    }

    /// The upload of an acknowledgement that is given again, as the client knows it.
    init?(_ acknowledgement: Acknowledgement, for caller: Caller) {
        guard acknowledgement.isDurable, let path = caller.clientPath(acknowledgement.path) else { return nil }
        self.init(
            uploadID: caller.outer(acknowledgement.id), path: path, kind: acknowledgement.kind,
            size: acknowledgement.size, digest: acknowledgement.digest, result: acknowledgement.code)
    }

    /// The upload of a catalog entry, as it was acknowledged.
    init?(_ entry: CatalogEntry, for caller: Caller) {
        guard let digest = entry.digest, let path = (try? RelativePath(entry.path)).flatMap(caller.clientPath) else {
            return nil
        }
        self.init(
            uploadID: caller.outer(entry.id), path: path, kind: entry.kind, size: entry.size, digest: digest,
            result: entry.state == .committed ? .committed : .alreadyStored)
    }
}
