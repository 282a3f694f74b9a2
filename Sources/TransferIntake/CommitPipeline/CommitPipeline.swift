import TransferAccess
import TransferMail
package import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// Takes verified uploads to their acknowledgements: publish, which claims the ids first, then deliver, sign, record,
/// release. Each step requires the proof that the step before it returns, and only the last one makes an
/// acknowledgement, so none can be made early.
///
/// A store in a directory has published its uploads for good when `publish` returns, so the uploads of several calls
/// are delivered, signed and recorded together. A store that publishes in a transaction commits it with mail and
/// records within `publish` (`Settlement`); only the release waits for `acknowledge`.
///
/// Used by one thread at a time.
package final class CommitPipeline {
    /// Proof that each mail of the batch is in its mailboxes, or has failed.
    private struct Delivered {
        let uploads: [Published]
    }

    /// Proof that each upload has a receipt if one can be given and the client wants it.
    private struct Signed {
        let uploads: [Published]
        let signedBatch: SignedBatch?

        /// `RecentChanges.moment` of each upload that has an entry for the catalog.
        var moments: [Int] { uploads.compactMap { upload in upload.entry.map { _ in upload.moment } } }
    }

    /// Proof that the catalog was asked to record a whole batch. If the catalog failed, the uploads stay stored, but
    /// the server does not remember them. With a store that publishes in a transaction: proof that the transaction is
    /// committed, or that its uploads have failed.
    fileprivate struct Recorded {
        let uploads: [Published]
        let signedBatch: SignedBatch?
    }

    /// Proof that the catalog was asked to record one stored upload. An acknowledgement can only be made from this
    /// proof.
    struct RecordedUpload {
        let intent: UploadIntent
        let stored: Published.Stored

        fileprivate init(_ intent: UploadIntent, _ stored: Published.Stored, in batch: Recorded) {
            (self.intent, self.stored) = (intent, stored)
        }
    }

    /// When this many uploads or bytes are published, they are signed without waiting for more. Making and verifying a
    /// signature takes as long as 50 receipts or 200 KB of content, so its share of the work is small by then. A client
    /// can have four times as many uploads on the way.
    private static let mostUnsigned = (uploads: 1024, bytes: UInt64(8 << 20))

    /// At this many bytes of paths and notes, uploads are published or signed without waiting for more.
    static let mostNames = 256 << 10

    private let intake: Intake
    private var verified: [VerifiedUpload] = []
    private var published: [Published] = []
    /// Batches that were published in a transaction and are committed, but not released to their clients.
    private var committed: [Recorded] = []
    /// Bytes of content in `published`, each upload counted up to a limit.
    private var unsignedBytes: UInt64 = 0
    /// Bytes of names in `published`.
    private var unsignedNames = 0
    /// Bytes of names in `verified`.
    private var verifiedNames = 0
    /// Bytes of content in `verified`.
    private var verifiedBytes: UInt64 = 0
    /// When the first of `verified` was added, in nanoseconds of the monotonic clock.
    private var verifiedSince: Int64 = 0
    /// Files that were known to be rotten before they were compared with the uploads of `published`.
    private var marked: [ContentVersion] = []

    /// Where replaced files go; nil if they are removed for good.
    var trash: OpenTrashBatch?

    /// The issuer; nil if the client wants no receipts or the server gives none.
    var issuer: ReceiptIssuer?

    init(_ intake: Intake) {
        self.intake = intake
    }

    /// Number of uploads that wait to be published.
    package var verifiedCount: Int { verified.count }

    /// Whether the names of verified uploads take so much memory that they should be published now.
    var hasLongNames: Bool { verifiedNames >= Self.mostNames }

    /// Whether verified uploads can wait for others that have arrived already, so that all are published together.
    package var canGather: Bool {
        guard !verified.isEmpty, let most = intake.store.abilities.gathering else { return false }
        return verified.count < most.uploads && verifiedBytes < most.bytes && !hasLongNames
            && intake.clock.monotonic() - verifiedSince < most.time.nanoseconds
    }

    /// Whether uploads are published and have no outcome yet.
    package var isWaiting: Bool { !published.isEmpty || !committed.isEmpty }

    /// Adds an upload that waits to be published.
    func add(_ upload: VerifiedUpload) {
        if verified.isEmpty { (verifiedBytes, verifiedSince) = (0, intake.clock.monotonic()) }
        verified.append(upload)
        verifiedBytes = verifiedBytes.addingClamped(upload.publication.size)
        if !upload.upload.intent.isMail { verified[verified.count - 1].publication.trash = trash }
        verifiedNames += upload.upload.admission.bytesOfNames
    }

    /// Gives up what is verified and not published. The parts of multipart uploads stay for a connection that resumes
    /// them.
    func giveUp() {
        for verified in verified {
            if let multipart = verified.upload.multipart {
                intake.multiparts.remove(multipart)
            } else {
                verified.publication.content.discard()
            }
        }
        verified.removeAll()
        verifiedNames = 0
    }

    /// Whether more uploads can share a signature with those that are published.
    package var canShareSignature: Bool {
        issuer != nil && committed.isEmpty && published.count < Self.mostUnsigned.uploads
            && unsignedBytes < Self.mostUnsigned.bytes
            && unsignedNames < Self.mostNames
    }
}

// MARK: Claim and publish

extension CommitPipeline {
    /// What a call of `publish` has done.
    package struct Publishing {
        /// Uploads that were refused, or that another connection has completed or is completing.
        package fileprivate(set) var ended: [EndedUpload] = []
        /// Files whose content the disk had lost and an upload has restored.
        package fileprivate(set) var healed: [RelativePath] = []
        /// Whether any upload was passed to the store.
        package fileprivate(set) var hasPublished = false
    }

    /// Publishes the verified uploads with one pass of syncs.
    ///
    /// - Parameter refusal: why the client may store nothing more; nil if it may store more.
    func publish(
        for caller: Caller, unless refusal: Refusal?, run: UInt64?, receipts: inout RepeatedReceipts
    ) -> Publishing {
        var report = Publishing()
        refuseForbidden(for: caller, refusal, &report)
        let seen = endRepeated(for: caller, run: run, receipts: &receipts, &report)
        takeShares(for: caller, &report)
        claim(for: caller, run: run, receipts: &receipts, &report)
        guard !verified.isEmpty else {
            verifiedNames = 0
            return report
        }
        let moment = intake.known.recentChanges.moment
        marked += intake.marks(verified.map(\.publication.path))
        let batch = intake.store.publish(
            verified.map(\.publication), seen: seen, acknowledged: intake.known.acknowledged(at:_:),
            mayReplace: intake.mayReplace(caller))
        intake.known.restamp(batch)
        let (now, utc) = (intake.clock.monotonic(), intake.clock.utc())
        for (verified, outcome) in zip(verified, batch.outcomes) {
            let begun = utc - (now - verified.upload.started)
            var upload = Published(
                verified, outcome, isDurable: intake.store.durability == .commit, caller, begun: begun, at: utc)
            upload.moment = moment
            published.append(upload)
            unsignedBytes += min(verified.publication.size, Self.mostUnsigned.bytes)
            unsignedNames += verified.upload.admission.bytesOfNames
            if let kept = verified.publication.content.kept {
                intake.known.recentKeeps.add(kept, of: verified.publication.path)
            }
        }
        let first = published.count - verified.count
        let settled = batch.settlement.map { commit(OpenBatch($0, intake), for: caller) }
        for (index, outcome) in batch.outcomes.enumerated() {
            let (share, healed) = (verified[index].share, outcome.healedPath)
            guard share != nil || healed != nil else { continue }
            let upload = settled?[index] ?? published[first + index]
            guard case .stored = upload.ending else { continue }
            share.map(upload.keep)
            if let healed { report.healed.append(healed) }
        }
        verified.removeAll(keepingCapacity: true)
        verifiedNames = 0
        report.hasPublished = true
        return report
    }

    /// Commits a batch that the store has just published in a transaction. With such a store no earlier uploads wait in
    /// `published`.
    ///
    /// - Returns: the uploads of the batch after the transaction.
    private func commit(_ batch: OpenBatch, for caller: Caller) -> [Published] {
        let recorded = record(sign(deliver(published, in: batch), for: caller), in: batch)
        committed.append(recorded)
        forgetPublished()
        return recorded.uploads
    }

    private func forgetPublished() {
        published.removeAll(keepingCapacity: true)
        marked.removeAll()
        (unsignedBytes, unsignedNames) = (0, 0)
    }

    /// Gives up the uploads that the client may not store any more.
    private func refuseForbidden(for caller: Caller, _ refusal: Refusal?, _ report: inout Publishing) {
        for index in verified.indices.reversed() {
            do throws(Failure) {
                let upload = verified[index].upload
                try upload.admission.reauthorize(for: caller, unless: refusal, size: upload.size)
            } catch {
                let (upload, publication) = withdraw(index)
                report.ended.append(EndedUpload(upload, .refused(error, size: publication.size)))
            }
        }
    }

    /// Ends uploads that are acknowledged already, of those that were not looked up when they began.
    ///
    /// - Returns: what the records have seen at the paths of the batch; nil if they were not looked at.
    private func endRepeated(
        for caller: Caller, run: UInt64?, receipts: inout RepeatedReceipts, _ report: inout Publishing
    ) -> (any SeenPaths)? {
        let pending = verified.indices.filter { verified[$0].upload.admission.isToBeLookedUp }
        guard !pending.isEmpty else { return nil }
        let ids = pending.map { verified[$0].publication.id }
        let (entries, seen) = intake.known.entries(for: ids, publishingAt: verified.map(\.publication.path))
        let earlier = intake.stillStored(ids, entries, nil, for: caller, hasRotten: true)
        for (index, found) in zip(pending, earlier).reversed() {
            guard let found, found.digest.algorithm.function == verified[index].upload.intent.function else { continue }
            end(index, for: caller, run: run, receipts: &receipts, &report) {
                (admission, publication) throws(Failure) in
                try Acknowledgement(again: found, run: run, kind: admission.intent.kind)
                    .compared(size: publication.size, publication.digest)
            }
        }
        return seen
    }

    /// Ends a verified upload with an earlier acknowledgement, or refuses it without one.
    private func end(
        _ index: Int, for caller: Caller, run: UInt64?, receipts: inout RepeatedReceipts, _ report: inout Publishing,
        _ find: (UploadAdmission, Publication) throws(Failure) -> Acknowledgement
    ) {
        let (upload, publication) = withdraw(index)
        let outcome: UploadOutcome
        do throws(Failure) {
            outcome = .acknowledged(receipts.added(to: try find(upload.admission, publication), of: caller, run: run))
        } catch {
            outcome = .refused(error, size: publication.size)
        }
        report.ended.append(EndedUpload(upload, outcome))
    }

    /// Reserves room for what the uploads of a client with limits leave beside their content.
    private func takeShares(for caller: Caller, _ report: inout Publishing) {
        guard intake.quotas.limits(for: caller.grant) != nil else { return }
        for index in verified.indices.reversed() {
            do throws(Failure) {
                verified[index].share = try intake.quotas.share(
                    for: verified[index].publication, verified[index].upload.admission.mailed, of: caller.grant)
            } catch {
                let (upload, publication) = withdraw(index)
                report.ended.append(EndedUpload(upload, .refused(error, size: publication.size)))
            }
        }
    }

    /// Removes a verified upload from the batch and discards its content.
    private func withdraw(_ index: Int) -> (upload: OpenUpload, publication: Publication) {
        let (upload, publication) = { ($0.upload, $0.publication) }(verified.remove(at: index))
        publication.content.discard()
        if upload.intent.extent == .multipart { intake.store.parts?.forgetPublished(upload.intent.id) }
        if let multipart = upload.multipart { intake.multiparts.remove(multipart) }
        return (upload, publication)
    }

    /// Claims the ids. After a lost connection, a client's second attempt may run beside the first. The attempt that
    /// claims an id later gets the acknowledgement of the other one, or is refused with `busy` while there is no
    /// acknowledgement.
    private func claim(for caller: Caller, run: UInt64?, receipts: inout RepeatedReceipts, _ report: inout Publishing) {
        let claiming = verified.indices.filter { verified[$0].claim != nil }
        let refused = intake.known.recent.claim(claiming.compactMap { verified[$0].claim })
        for index in refused.lazy.map({ claiming[$0] }).reversed() {
            end(index, for: caller, run: run, receipts: &receipts, &report) {
                (admission, publication) throws(Failure) in
                try admission.acknowledgedElsewhere(publication)
            }
        }
    }
}

// MARK: Deliver, sign, record, release

extension CommitPipeline {
    /// The outcomes of uploads that were recorded together.
    package struct Ended {
        /// Ordered by the numbers of their receipts.
        package let uploads: [EndedUpload]
        /// The batch of receipts for all that was acknowledged; nil if there are no receipts.
        package let signedBatch: SignedBatch?
    }

    /// Signs what is published, records it in one transaction, and acknowledges it together with all that is committed
    /// already.
    ///
    /// - Returns: one element for a store that publishes without a transaction, otherwise one for each transaction;
    ///   empty if no upload waits.
    package func acknowledge(to caller: Caller) -> [Ended] {
        if !published.isEmpty {
            committed.append(record(sign(deliver(published, in: nil), for: caller), in: nil))
            forgetPublished()
        }
        defer { committed.removeAll() }
        return committed.map(release)
    }

    /// Puts all mail of a batch into the mailboxes, in one transaction.
    ///
    /// - Parameter batch: the open transaction that takes the mail; nil if the mailboxes have a separate transaction.
    private func deliver(_ published: [Published], in batch: OpenBatch?) -> Delivered {
        let mails = published.indices.compactMap { index in published[index].mail.map { (index, $0) } }
        guard !mails.isEmpty else { return Delivered(uploads: published) }
        var uploads = published
        let sent = mails.map { index, mail in (mail: mail, recipients: published[index].upload.intent.recipients) }
        let queued = batch?.queue(sent) ?? intake.mail.queue(sent)
        for ((index, _), result) in zip(mails, queued) {
            switch result {
            case .success(let isNew): uploads[index].delivered(isNew: isNew)
            case .failure(let error): uploads[index].fail(error)
            }
        }
        return Delivered(uploads: uploads)
    }

    private func sign(_ delivered: Delivered, for caller: Caller) -> Signed {
        guard let issuer else { return Signed(uploads: delivered.uploads, signedBatch: nil) }
        var (uploads, signed) = (delivered.uploads, [Int]())
        let acknowledged = uploads.indices.compactMap { index in
            guard case .stored(let stored) = uploads[index].ending,
                let acknowledged = ReceiptIssuer.Acknowledged(stored, uploads[index].upload.intent.kind, for: caller)
            else { return nil as ReceiptIssuer.Acknowledged? }
            signed.append(index)
            return acknowledged
        }
        guard !acknowledged.isEmpty else { return Signed(uploads: uploads, signedBatch: nil) }
        let signedBatch = issuer.issue(acknowledged, sender: caller.sender).signedBatch
        for (offset, index) in signed.enumerated() { uploads[index].setReceipt(signedBatch.number &+ UInt64(offset)) }
        return Signed(uploads: uploads, signedBatch: signedBatch)
    }

    private func record(_ signed: Signed, in batch: OpenBatch?) -> Recorded {
        let entries = signed.uploads.compactMap(\.entry)
        guard let batch else {
            PublishedRecording(known: intake.known, store: intake.store)
                .record(entries, with: signed.signedBatch, since: signed.moments, marked: marked)
            return Recorded(uploads: signed.uploads, signedBatch: signed.signedBatch)
        }
        do throws(Failure) {
            try batch.commit(entries, with: signed.signedBatch)
            return Recorded(uploads: signed.uploads, signedBatch: signed.signedBatch)
        } catch {
            var uploads = signed.uploads
            for index in uploads.indices { uploads[index].fail(error) }
            return Recorded(uploads: uploads, signedBatch: nil)
        }
    }

    private func release(_ recorded: Recorded) -> Ended {
        intake.known.recent.release(recorded.uploads.lazy.map(\.upload.intent.id))
        for published in recorded.uploads { published.upload.forgetUnfinished() }
        let uploads = recorded.uploads.map { published in
            EndedUpload(published.upload, Self.outcome(of: published, in: recorded))
        }
        return Ended(uploads: uploads, signedBatch: recorded.signedBatch)
    }

    private static func outcome(of published: Published, in recorded: Recorded) -> UploadOutcome {
        switch published.ending {
        case .stored(let stored):
            .acknowledged(Acknowledgement(RecordedUpload(published.upload.intent, stored, in: recorded)))
        case .skipped(let size): .skipped(size: size, message: "")
        case .failed(let error, let size): .refused(error, size: size)
        }
    }
}
