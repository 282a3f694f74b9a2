import TransferMail
import TransferModel
import TransferPorts

/// A batch whose publication is an open transaction. It adds mail and records to the transaction. When the transaction
/// is committed, it updates what the process remembers of them.
final class OpenBatch {
    private let settlement: any Settlement
    private let intake: Intake
    /// Recipients who have new mail.
    private var fresh: [String] = []
    /// Mails that are refused or that are in the mailboxes already. The transaction removes their content.
    private var freed: [Mail] = []
    /// Mails that the transaction could not take. Their content is removed after the commit.
    private var unqueued: [Mail] = []

    init(_ settlement: any Settlement, _ intake: Intake) { (self.settlement, self.intake) = (settlement, intake) }

    /// Puts published uploads into mailboxes.
    ///
    /// - Returns: the same as `MailDelivery.queue`.
    func queue(_ mails: [(mail: Mail, recipients: [String])]) -> [Result<Bool, Failure>] {
        guard let mailroom = intake.mailroom else {
            unqueued += mails.map(\.mail)
            return mails.map { _ in .failure(.noMailboxes) }
        }
        let queued: [QueuedMail]
        do throws(RecordsError) {
            queued = try settlement.queue(mails, mailroom.limits)
        } catch {
            unqueued += mails.map(\.mail)
            return mails.map { _ in .failure(Failure(mail: error)) }
        }
        return zip(mails, queued).map { sent, result in
            switch result {
            case .queued(let fresh, let isKept, let freed):
                self.fresh += fresh
                self.freed += (isKept ? [] : [sent.mail]) + (freed.map { [$0] } ?? [])
                return .success(isKept)
            case .refused(let refusal):
                freed.append(sent.mail)
                return .failure(Failure(refusal))
            }
        }
    }

    /// Commits the batch.
    ///
    /// - Throws: why nothing of the batch is stored.
    func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(Failure) {
        do throws(RecordsError) {
            try settlement.commit(entries, with: receipts)
        } catch {
            throw Failure(unsettled: error)
        }
        intake.known.remember(entries)
        intake.mailroom?.tell(fresh)
        intake.quotas.removed(freed)
        intake.mail.free(unqueued)
    }
}

extension Failure {
    fileprivate init(unsettled error: RecordsError) {
        let code: ResultCode =
            switch error.reason {
            case .full: .insufficientStorage
            // Another server was faster, and the same upload can succeed later.
            case .busy: .busy
            case .damaged, .unknownVersion, .failed, .unavailable: .storageFailed
            }
        self.init(code, "The upload could not be recorded, and is not stored: \(error.message)")
    }
}
