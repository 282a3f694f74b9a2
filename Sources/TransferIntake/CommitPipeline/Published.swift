import TransferModel
import TransferPorts

extension CommitPipeline {
    /// Proof that the store has published an upload, or has refused it. It holds no descriptor any more.
    struct Published {
        struct Stored {
            /// Whether the content is there because of this upload.
            let isNew: Bool
            /// What the upload has replaced at its path.
            let replaced: Acknowledgement.Replacement
            /// The trash batch that has the replaced file.
            var trash: TrashBatch?
            let path: RelativePath
            let size: UInt64
            let digest: Digest
            let isDurable: Bool
            /// The record for the catalog; not used for mail.
            fileprivate(set) var entry: CatalogEntry
            /// The record for the mailboxes; nil for an upload that is no mail.
            fileprivate(set) var mail: Mail?
        }

        enum Ending {
            case stored(Stored)
            case skipped(size: UInt64)
            case failed(Failure, size: UInt64)
        }

        let upload: OpenUpload
        fileprivate(set) var ending: Ending
        /// `RecentChanges.moment` before the upload was published.
        var moment = 0
    }
}

extension Result<PublicationOutcome, Failure> {
    /// The file whose content the disk had lost and this upload has restored.
    var healedPath: RelativePath? { if case .success(.healed(let path, _)) = self { path } else { nil } }
}

extension CommitPipeline.Published {
    /// - Parameters:
    ///   - isDurable: whether the store has synced what it published.
    ///   - begun: when the upload began; UTC, in nanoseconds since 1970.
    ///   - moment: when it was published, in the same unit.
    init(
        _ verified: VerifiedUpload, _ outcome: Result<PublicationOutcome, Failure>, isDurable: Bool, _ caller: Caller,
        begun: Int64, at moment: Int64
    ) {
        let (upload, publication) = (verified.upload, verified.publication)
        self.upload = upload
        // The size of the verified content, from which `upload.size` may differ.
        let size = publication.size
        let file: PublishedFile
        switch outcome {
        case .failure(let error):
            ending = .failed(error, size: size)
            return
        case .success(let published):
            guard let found = PublishedFile(published, of: publication, for: caller) else {
                ending = .skipped(size: size)
                return
            }
            file = found
        }
        let entry = file.entry(
            of: publication, upload.intent.kind, isDurable: isDurable, by: caller, begun: begun, at: moment,
            run: upload.admission.run)
        let mail =
            upload.intent.isMail ? upload.admission.mail(publication, at: file.path, from: caller, queued: moment) : nil
        ending = .stored(
            Stored(
                isNew: file.isNew, replaced: file.replaced, trash: file.kept?.batch,
                path: mail == nil ? file.path : upload.admission.statedPath ?? file.path, size: size,
                digest: publication.digest, isDurable: isDurable, entry: entry, mail: mail))
    }

    /// Charges the client for what the upload has left beside its content.
    func keep(_ share: ClientShare) {
        guard case .stored(let stored) = ending else { return }
        guard stored.mail == nil else { return share.keepAll() }
        // The client has already paid for the name, which existed before, but the catalog has one more row.
        guard stored.isNew, stored.replaced == .nothing || stored.trash != nil else {
            return share.keep(names: 0, bytes: QuotaPrice.row(stored.entry.path))
        }
        share.keepAll()
    }

    /// The mail, if the upload is one and is stored.
    var mail: Mail? {
        if case .stored(let stored) = ending { stored.mail } else { nil }
    }

    /// Notes that the mail is in the mailboxes.
    ///
    /// - Parameter isNew: whether this upload has put it there.
    mutating func delivered(isNew: Bool) {
        guard case .stored(let stored) = ending else { return }
        ending = .stored(
            Stored(
                isNew: isNew, replaced: .nothing, path: stored.path, size: stored.size, digest: stored.digest,
                isDurable: stored.isDurable, entry: stored.entry, mail: stored.mail))
    }

    mutating func fail(_ error: Failure) {
        if case .stored(let stored) = ending { ending = .failed(error, size: stored.size) }
    }

    var entry: CatalogEntry? {
        if case .stored(let stored) = ending, stored.mail == nil { stored.entry } else { nil }
    }

    mutating func setReceipt(_ number: UInt64) {
        guard case .stored(var stored) = ending else { return }
        stored.entry.receipt = number
        ending = .stored(stored)
    }
}
