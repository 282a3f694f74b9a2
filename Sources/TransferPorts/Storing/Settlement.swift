package import TransferModel

/// A publication whose transaction is open. A store that keeps names, mail and records in one database returns one with what it has
/// published (`PublishedBatch.settlement`): nothing of the batch shows to others, or is durable, before it is committed. A store that
/// publishes for good, as a directory does, returns none, and mail and records follow by themselves.
///
///     publish ─► queue mail ─► (sign receipts) ─► commit
///       │                                           └─► throws: nothing of the batch is stored
///       └─► the settlement goes without a commit: nothing of the batch is stored
///
/// The commit pipeline calls it in this order, once each, on the thread that has published, before it does anything else for the
/// client: no transaction is open while a client is waited for.
package protocol Settlement: AnyObject {
    /// As `MailRecords.queue`. Content that nobody gets, of mails that are refused or that are one too many, goes with the transaction.
    func queue(_ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits) throws(RecordsError) -> [QueuedMail]

    /// Records the uploads as `UploadRecords.record` does, and commits. No mark of rot is left of their files. When this returns, all of
    /// it is as durable as the store is.
    ///
    /// - Parameters:
    ///   - entries: of files; none of mails.
    ///   - receipts: whose numbers entries have, from the first of them to the last.
    /// - Throws: why nothing of the batch is stored, or why that is not known: its uploads are refused, and each may be sent again.
    func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError)
}
