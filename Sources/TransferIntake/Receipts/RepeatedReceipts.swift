import TransferModel
import TransferPorts
import TransferReceipts

/// Receipts of acknowledgements that are given again.
package struct RepeatedReceipts {
    private let known: KnownUploads

    /// There where the caller wants receipts and the server gives them.
    var issuer: ReceiptIssuer?

    /// Those that were made again last: who repeats one upload repeats others of its batch.
    private var last: ReceiptBatch?

    init(_ known: KnownUploads) {
        self.known = known
    }

    /// - Returns: the acknowledgement with a receipt, if the caller wants any: the one that it came with where it is
    ///   repeated, and otherwise one of now.
    mutating func added(to acknowledgement: Acknowledgement, of caller: Caller, run: UInt64?) -> Acknowledgement {
        guard let issuer else { return acknowledgement }
        var acknowledgement = acknowledgement
        acknowledgement.receipt = earlier(acknowledgement.id, run, by: issuer, for: caller)
        if acknowledgement.receipt == nil, let upload = ReceiptIssuer.Acknowledged(acknowledgement, for: caller) {
            acknowledgement.receipt = issuer.issue([upload], sender: caller.sender).encoded(0)
        }
        return acknowledgement
    }

    /// - Parameter entry: of the upload that was acknowledged.
    /// - Returns: the receipt that its acknowledgement came with, where it can be made again; otherwise one of now.
    mutating func made(
        for acknowledgement: Acknowledgement, of entry: CatalogEntry, by issuer: ReceiptIssuer, for caller: Caller
    ) -> [UInt8]? {
        if let receipt = earlier(entry.id, entry.run, by: issuer, for: caller) { return receipt }
        // It says whom the server had it from, whoever asks.
        return ReceiptIssuer.Acknowledged(acknowledgement, for: caller)
            .map { issuer.issue([$0], sender: entry.sender).encoded(0) }
    }

    /// Puts a receipt of now into every one; all of them share one signature.
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

    /// - Returns: nothing for an upload of another push, one that was acknowledged without a receipt, and one whose
    ///   receipt cannot be made again because another upload of its batch is no more what it was.
    private mutating func earlier(
        _ id: UploadID, _ run: UInt64?, by issuer: ReceiptIssuer, for caller: Caller
    ) -> [UInt8]? {
        guard let entry = known.entry(for: id), let number = entry.receipt, entry.run == run else { return nil }
        if let receipt = last?.encoded(number: number) { return receipt }
        last = known.signed(with: number).flatMap { issuer.issue(again: $0, for: caller) }
        return last?.encoded(number: number)
    }
}

/// Uploads whose receipts have one signature, as they were acknowledged.
struct SignedEntries {
    let signedBatch: SignedBatch

    /// In the order of their receipts.
    let entries: [CatalogEntry]
}

extension ReceiptIssuer {
    /// Makes the receipts again that were given with acknowledgements.
    ///
    /// - Returns: nothing when not all of these uploads are as they were.
    fileprivate func issue(again receipts: SignedEntries, for caller: Caller) -> ReceiptBatch? {
        issue(again: receipts.signedBatch, for: receipts.entries.compactMap { Acknowledged($0, for: caller) })
    }
}

extension ReceiptIssuer.Acknowledged {
    /// As the client knows the upload.
    ///
    /// - Returns: nothing for what no receipt can promise.
    init?(_ stored: CommitPipeline.Published.Stored, _ kind: ContentKind, for caller: Caller) {
        guard stored.isDurable, let path = caller.clientPath(stored.path) else { return nil }
        self.init(
            uploadID: caller.outer(stored.entry.id), path: path, kind: kind, size: stored.size, digest: stored.digest,
            result: stored.isNew ? .committed : .alreadyStored)
    }

    /// The same for an acknowledgement that is given again.
    init?(_ acknowledgement: Acknowledgement, for caller: Caller) {
        guard acknowledgement.isDurable, let path = caller.clientPath(acknowledgement.path) else { return nil }
        self.init(
            uploadID: caller.outer(acknowledgement.id), path: path, kind: acknowledgement.kind,
            size: acknowledgement.size, digest: acknowledgement.digest, result: acknowledgement.code)
    }

    /// As it was acknowledged.
    init?(_ entry: CatalogEntry, for caller: Caller) {
        guard let digest = entry.digest, let path = (try? RelativePath(entry.path)).flatMap(caller.clientPath) else {
            return nil
        }
        self.init(
            uploadID: caller.outer(entry.id), path: path, kind: entry.kind, size: entry.size, digest: digest,
            result: entry.state == .committed ? .committed : .alreadyStored)
    }
}
