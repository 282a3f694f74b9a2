package import TransferMail
package import TransferModel
package import TransferPorts
import TransferSystem

/// Uploads that are for other people: asks the mailboxes who can have one, and the store for its content. All connections share one. Safe
/// to call from any thread.
package final class MailDelivery: Sendable {
    /// How many mails are doubted at most; each has a name and a note of some KiB.
    private static let mostDoubtful = 1024

    /// The mailboxes; nil if the server has none.
    package let mailroom: Mailroom?

    private let store: any ContentStore
    private let quotas: CallerQuotas
    /// Mail of which it is not known whether it is in a mailbox, because the ledger has failed.
    private let doubtfulMail = Locked([Mail]())

    init(_ mailroom: Mailroom?, _ store: any ContentStore, _ quotas: CallerQuotas) {
        (self.mailroom, self.store, self.quotas) = (mailroom, store, quotas)
    }

    /// Whether an upload has a chance, before its content travels.
    func admit(_ intent: UploadIntent, from caller: Caller) throws(Failure) {
        guard let mailroom else {
            throw .noMailboxes
        }
        var names = intent.recipients
        if case .part = intent.extent {
            // Its end is asked about again.
        } else {
            // For those who have it, or for whom it waits, it is no more than it was.
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

    /// What became of an upload that was sent before.
    func knownDeliveries(of id: UploadID) throws(Failure) -> [Delivery] {
        guard let mailroom else { return [] }
        do throws(RecordsError) {
            return try mailroom.ledger.deliveries(of: id)
        } catch {
            throw Failure(mail: error)
        }
    }

    /// Puts published uploads into mailboxes, all in one transaction. Content that nobody gets is removed.
    ///
    /// - Returns: of each whether it is what its recipients get, or why it is not taken.
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

    /// Removes content that was for somebody and that nobody needs any more. What cannot be removed goes at the next start.
    package func free(_ mails: [Mail]) {
        guard !mails.isEmpty else { return }
        store.removeMail(mails.map(\.path))
        quotas.removed(mails)
    }

    /// Ends what has waited for too long.
    ///
    /// - Parameter age: nanoseconds.
    /// - Returns: what has ended.
    package func expire(after age: Int64) throws(RecordsError) -> [Delivery] {
        guard let mailroom, mailroom.isOpen else { return [] }
        try settleDoubtful(mailroom)
        let ended = try mailroom.expire(after: age)
        free(ended.freed)
        return ended.deliveries
    }

    /// Removes content in the place of mail that is in no mailbox: uploads that were published when a server ended. To be
    /// called before the first upload.
    ///
    /// - Returns: how many files.
    package func sweep() throws(RecordsError) -> Int {
        guard let mailroom else { return 0 }
        let open = try mailroom.ledger.openPaths()
        let orphans = store.mailFiles().filter { !open.contains($0) }
        store.removeMail(orphans)
        return orphans.count
    }

    /// Looks again at what was published while the ledger failed.
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

    /// What is one too many is looked at when the next server starts.
    private func doubt(_ mails: [Mail]) {
        doubtfulMail.withLock { doubtful in doubtful += mails.prefix(max(0, Self.mostDoubtful - doubtful.count)) }
    }
}

extension UploadAdmission {
    /// The upload as it goes into mailboxes.
    ///
    /// - Parameters:
    ///   - path: where its content is.
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
                "Nobody here is called '\(name.escapedForDisplay)'; `transfer people` lists who is.")
        case .declines(let name):
            self.init(.forbidden, "\(name.escapedForDisplay) takes nothing from this client.")
        case .full(let name, let limits):
            self.init(
                .quotaExceeded,
                "The mailbox of \(name.escapedForDisplay) is full: \(limits.count) uploads or "
                    + "\(ByteFormat.size(limits.bytes)) may wait there.")
        case .fullOfYours(let name, let limits):
            self.init(
                .quotaExceeded,
                "As much of this client's waits for \(name.escapedForDisplay) as may: \(limits.countOfPair) uploads or "
                    + "\(ByteFormat.size(limits.bytesOfPair)).")
        case .fullOfUnproven(let name, let limits):
            self.init(
                .quotaExceeded,
                "As much from clients without keys waits for \(name.escapedForDisplay) as may: \(limits.countOfPair) uploads "
                    + "or \(ByteFormat.size(limits.bytesOfPair)).")
        case .otherContent: self = .idHasOtherContent
        case .noName:
            self.init(
                .forbidden,
                "This client has no name here, and so nobody could tell whom it is from: its key has to be in the "
                    + "server's list (transfer access add).")
        case .unavailable(let reason): self.init(.storageFailed, reason)
        }
    }

    package static let noMailboxes = Failure(
        .forbidden, "This server keeps no mailboxes: it stores uploads, and hands none on.")

    /// - Parameter error: of the ledger.
    package init(mail error: RecordsError) {
        self.init(
            error.reason == .full ? .insufficientStorage : .storageFailed,
            "The mailboxes cannot be used: \(error.message)")
    }
}
