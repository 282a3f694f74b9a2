package import TransferMail
package import TransferModel
package import TransferPorts
import TransferSystem

/// Delivers uploads that are addressed to people: checks with the mailboxes who may receive one, and removes its
/// content from the store when it is not needed. Shared by all connections. Safe to call from any thread.
package final class MailDelivery: Sendable {
    /// The most mails in doubt that are remembered; each has a name and a note of some KiB.
    static let mostDoubtful = 1024

    /// The mailboxes; nil if the server has none.
    package let mailroom: Mailroom?

    private let store: any ContentStore
    private let quotas: CallerQuotas
    /// Mails of which it is unknown whether they are in a mailbox, because the ledger has failed.
    private let doubtfulMail = Locked([Mail]())

    init(_ mailroom: Mailroom?, _ store: any ContentStore, _ quotas: CallerQuotas) {
        (self.mailroom, self.store, self.quotas) = (mailroom, store, quotas)
    }

    /// Checks whether an upload can be delivered, before the client sends its content.
    func admit(_ intent: UploadIntent, from caller: Caller) throws(Failure) {
        guard let mailroom else {
            throw .noMailboxes
        }
        var names = intent.recipients
        if case .part = intent.extent {
            // The recipients are checked at the end of the upload.
        } else {
            // Recipients who have received the mail, or for whom it waits, need no further room.
            let known = try knownDeliveries(of: intent.id).filter { $0.state.isOpen || $0.state == .delivered }
            let served = Set(known.lazy.map { PathKey($0.recipient) })
            names.removeAll { served.contains(PathKey($0)) }
        }
        do throws(MailRefusal) {
            try mailroom.admit(intent.uploadSize, from: caller.mailSender, to: names)
        } catch {
            throw Failure(error)
        }
    }

    /// The deliveries of an upload that was sent before.
    func knownDeliveries(of id: UploadID) throws(Failure) -> [Delivery] {
        guard let mailroom else { return [] }
        do throws(RecordsError) {
            return try mailroom.ledger.deliveries(of: id)
        } catch {
            throw Failure(mail: error)
        }
    }

    /// Puts published uploads into mailboxes, in one transaction. The content of mails that no recipient gets is
    /// removed.
    ///
    /// - Returns: for each mail whether its content is what the recipients get, or why it is refused.
    func queue(_ mails: [(mail: Mail, recipients: [String])]) -> [Result<Bool, Failure>] {
        guard let mailroom else {
            free(mails.map(\.mail))
            return mails.map { _ in .failure(.noMailboxes) }
        }
        do throws(Failure) {
            try store.checkRoom()
        } catch {
            free(mails.map(\.mail))
            return mails.map { _ in .failure(error) }
        }
        let queued: [QueuedMail]
        do throws(RecordsError) {
            try settleDoubtful(mailroom)
            queued = try mailroom.queue(mails) { [store] in store.version(at: $0) != nil }
        } catch {
            // It may be in the ledger all the same, so its content has to stay until that is known.
            doubt(mails.map(\.mail))
            let failure = Failure(mail: error)
            return mails.map { _ in .failure(failure) }
        }
        return zip(mails, queued).map { sent, result in
            switch result {
            case .queued(_, let isKept, let freed):
                free((isKept ? [] : [sent.mail]) + (freed.map { [$0] } ?? []))
                return .success(isKept)
            case .refused(let refusal):
                free([sent.mail])
                return .failure(Failure(refusal))
            }
        }
    }

    /// Removes the content of mails that are not needed any more. What cannot be removed is removed at the next start.
    package func free(_ mails: [Mail]) {
        guard !mails.isEmpty else { return }
        store.removeMail(mails.map(\.path))
        quotas.removed(mails)
    }

    /// Ends deliveries that have waited for too long.
    ///
    /// - Parameter age: nanoseconds.
    /// - Returns: the deliveries that have ended.
    package func expire(after age: Int64) throws(RecordsError) -> [Delivery] {
        guard let mailroom, mailroom.isOpen else { return [] }
        try settleDoubtful(mailroom)
        let ended = try mailroom.expire(after: age)
        free(ended.freed)
        return ended.deliveries
    }

    /// Removes the content of mails that are in no mailbox: they were published when a server ended. Uploads in
    /// parts become unfinished again, so that their clients can complete them. Has to be called before the first upload.
    ///
    /// - Returns: the number of removed files.
    package func sweep() throws(RecordsError) -> Int {
        guard let mailroom else { return 0 }
        let open = try mailroom.ledger.openPaths()
        store.parts?.unpublish(mail: store.mailFiles().filter { !open.contains($0) })
        let orphans = store.mailFiles().filter { !open.contains($0) }
        store.removeMail(orphans)
        return orphans.count
    }

    /// Looks up the mails that were published while the ledger failed.
    private func settleDoubtful(_ mailroom: Mailroom) throws(RecordsError) {
        let doubtful = doubtfulMail.withLock { doubtful in
            defer { doubtful = [] }
            return doubtful
        }
        guard !doubtful.isEmpty else { return }
        do throws(RecordsError) {
            var gone: [Mail] = []
            for mail in doubtful {
                let deliveries = try mailroom.ledger.deliveries(of: mail.id)
                if !deliveries.contains(where: { $0.state.isOpen && $0.mail.path == mail.path }) { gone.append(mail) }
            }
            free(gone)
        } catch {
            doubt(doubtful)
            throw error
        }
    }

    /// Remembers mails in doubt. Mails beyond the limit are only looked at when the next server starts.
    private func doubt(_ mails: [Mail]) {
        doubtfulMail.withLock { doubtful in doubtful += mails.prefix(max(0, Self.mostDoubtful - doubtful.count)) }
    }
}

extension UploadAdmission {
    /// The upload as it is put into mailboxes.
    ///
    /// - Parameters:
    ///   - path: the path of the content in the store.
    ///   - moment: UTC, in nanoseconds since 1970.
    func mail(_ publication: Publication, at path: RelativePath, from caller: Caller, queued moment: Int64) -> Mail {
        let name = statedPath.flatMap(caller.clientPath) ?? statedPath
        return Mail(
            id: intent.id, sender: caller.person ?? caller.sender, client: caller.id, name: name?.string ?? "",
            kind: intent.kind, size: publication.size, digest: publication.digest, modified: intent.modified,
            permissions: intent.permissions, note: intent.note, path: path, queued: moment,
            isUnproven: !caller.isProven)
    }
}

extension Failure {
    package init(_ refusal: MailRefusal) {
        switch refusal {
        case .unknown(let name):
            self.init(
                .unknownRecipient,
                "The server has no user called '\(name.escapedForDisplay)'; `transfer people` lists its users.")
        case .declines(let name):
            self.init(.forbidden, "\(name.escapedForDisplay) does not accept files from this client.")
        case .full(let name, let limits):
            self.init(
                .quotaExceeded,
                "The mailbox of \(name.escapedForDisplay) is full: \(limits.count) uploads or "
                    + "\(ByteFormat.size(limits.bytes)) may wait there.")
        case .fullOfYours(let name, let limits):
            self.init(
                .quotaExceeded,
                "The mailbox of \(name.escapedForDisplay) has no more room for this client: at most "
                    + "\(limits.countOfPair) of its uploads or \(ByteFormat.size(limits.bytesOfPair)) may wait there.")
        case .fullOfUnproven(let name, let limits):
            self.init(
                .quotaExceeded,
                "The mailbox of \(name.escapedForDisplay) has no more room for clients without keys: "
                    + "at most \(limits.countOfPair) of their uploads or "
                    + "\(ByteFormat.size(limits.bytesOfPair)) may wait there.")
        case .otherContent: self = .idHasOtherContent
        case .noName:
            self.init(
                .forbidden,
                "This client has no name on the server, so the recipient could not see who sent the "
                    + "file: add its key on the server with 'transfer access add'.")
        case .unavailable(let reason): self.init(.storageFailed, reason)
        }
    }

    package static let noMailboxes = Failure(
        .forbidden, "This server has no mailboxes: it cannot deliver uploads to other users.")

    /// - Parameter error: an error of the ledger.
    package init(mail error: RecordsError) {
        self.init(
            error.reason == .full ? .insufficientStorage : .storageFailed,
            "The mailboxes cannot be used: \(error.message)")
    }
}
