package import Synchronization
import TransferKeys
package import TransferMail
package import TransferModel
package import TransferReceipts
package import TransferPorts
import TransferSystem

/// Takes uploads in and acknowledges them, whatever wire they came over. All connections share one intake; each
/// connection calls it through its own `IntakeSession`.
package final class Intake: Sendable {
    package struct Configuration: Sendable {
        /// The most multipart uploads under way at once; each holds a descriptor.
        package var maximumMultiparts: Int

        /// The most uploads that are published together.
        package var filesAtOnce: Int

        /// The most bytes that one upload may have.
        package var maximumUpload: UInt64

        /// How long an unfinished upload to which nothing is added is kept, in nanoseconds.
        package var keepUnfinished: Int64

        package init(maximumMultiparts: Int, filesAtOnce: Int, maximumUpload: UInt64, keepUnfinished: Int64) {
            (self.maximumMultiparts, self.filesAtOnce) = (maximumMultiparts, filesAtOnce)
            (self.maximumUpload, self.keepUnfinished) = (maximumUpload, keepUnfinished)
        }
    }

    package let store: any ContentStore

    /// Remembers the uploads that were acknowledged and those that are unfinished.
    package let known: KnownUploads

    package let multiparts: MultipartUploads

    package let quotas: CallerQuotas

    /// Matches the files of a copied directory with what was acknowledged in the original.
    package let adoption: Adoption

    /// Puts uploads that are addressed to people into their mailboxes.
    package let mail: MailDelivery

    /// Signs receipts for clients that ask; nil if acknowledgements don't promise enough for a receipt.
    let issuer: ReceiptIssuer?

    /// The paths that requests other than uploads are changing.
    let changing = ChangingPaths()

    let clock: IntakeClock

    let report: @Sendable (IntakeEvent) -> Void

    /// The most uploads that a session publishes together.
    let filesAtOnce: Int

    /// Whether the server is stopping and takes no new uploads. Parts of multipart uploads that are under way are still
    /// taken.
    package let isStopping = Atomic(false)

    /// The number of append requests so far. The newest request owns its upload, whatever connection it came over.
    private let requests = Atomic(0)

    func nextRequest() -> Int { requests.wrappingAdd(1, ordering: .relaxed).newValue }

    private let largest: Atomic<UInt64>

    private let keeping: Atomic<Int64>

    /// - Parameters:
    ///   - records: where uploads are remembered.
    ///   - mailroom: the mailboxes; nil if the server has none.
    ///   - signer: signs receipts; nil if the server gives none.
    ///   - mark: the mark of the store's directory; nil if the directory cannot be a copy.
    ///   - report: receives what an operator has to know, on any thread.
    package init(
        _ configuration: Configuration, store: any ContentStore, records: any UploadRecords, signer: ServerIdentity?,
        mailroom: Mailroom? = nil, mark: DirectoryMark? = nil, clock: IntakeClock = .system,
        report: @escaping @Sendable (IntakeEvent) -> Void
    ) {
        self.store = store
        (self.clock, self.report) = (clock, report)
        filesAtOnce = max(1, store.abilities.uploadsAtOnce ?? configuration.filesAtOnce)
        largest = Atomic(configuration.maximumUpload)
        keeping = Atomic(configuration.keepUnfinished)
        let known = KnownUploads(records, isShared: store.abilities.isShared, clock: clock, report: report)
        self.known = known
        issuer = signer.map { signer in
            let numbers = ReceiptNumbers(
                first: known.receiptNumber, keep: { known.keep(receiptNumber: $0) }, utc: clock.utc)
            return ReceiptIssuer(signer, numbers: numbers, utc: clock.utc)
        }
        let adoption = Adoption(known, store, mark, report: report)
        self.adoption = adoption
        quotas = CallerQuotas(known, store, mailroom, adoption, clock: clock.monotonic)
        mail = MailDelivery(mailroom, store, quotas)
        multiparts = MultipartUploads(limit: configuration.maximumMultiparts, records: store.parts?.records) { id in
            guard known.unfinished(id) != nil else { return }
            known.forgetUnfinished([id]) { store.parts?.hasPart($0) ?? false }
        }
    }

    /// The mailboxes; nil if the server has none.
    package var mailroom: Mailroom? { mail.mailroom }

    /// The most bytes that an upload may have, before the client's own limit is applied.
    package var maximumUpload: UInt64 {
        get { largest.load(ordering: .relaxed) }
        set { largest.store(newValue, ordering: .relaxed) }
    }

    /// How long an unfinished upload to which nothing is added is kept, in nanoseconds.
    package var keepUnfinished: Int64 {
        get { keeping.load(ordering: .relaxed) }
        set { keeping.store(newValue, ordering: .relaxed) }
    }

    /// Whether a part of an upload may be a piece of a block.
    package var takesPieces: Bool {
        let abilities = store.abilities
        return store.parts != nil && abilities.takesPieces && abilities.writesAnywhere
            && abilities.leastPart <= Limits.pieceSize
    }

    /// The public key that receipts are verified with; nil if the server gives none.
    package var receiptKey: [UInt8]? { issuer?.key.raw.bytes }

    /// The proof that `ServerIdentity.proof` makes; nil for a server that gives no receipts.
    package func receiptKeyProof(on channelBinding: [UInt8]) -> [UInt8]? { issuer?.keyProof(on: channelBinding) }
}

// MARK: Unfinished uploads

extension Intake {
    /// Whether the store has a part of the upload, or a record of what has become of it.
    func hasPart(_ id: UploadID) -> Bool { store.parts?.hasPart(id) ?? false }

    /// - Throws: `forbidden` if the store takes no multipart uploads.
    func partStore() throws(Failure) -> any PartStore {
        guard let parts = store.parts else { throw .noParts }
        return parts
    }

    /// - Throws: `forbidden` if the store takes no append uploads.
    func appendStore() throws(Failure) -> any AppendStore {
        guard let appends = store.appends else { throw .noAppends }
        return appends
    }

    /// Removes from the catalog the unfinished uploads whose parts are gone: they were taken back, were refused, or are
    /// too old.
    package func forgetUnfinished() {
        known.forgetUnfinished { [self] in multiparts[$0] != nil || hasPart($0) }
    }

    /// Finds a place for one more unfinished upload of a client. If the client has used its share, or no place is free,
    /// an older upload is given up that no connection works on.
    ///
    /// - Throws: `busy` if there is no such upload; `insufficientStorage`.
    func makePlace(for caller: Caller) throws(Failure) {
        try store.checkRoom()
        guard case .instead(let uploads) = known.place(for: caller) else { return }
        guard uploads.contains(where: giveUp) else { throw .tooManyUnfinished }
    }

    /// - Returns: false if a connection works on the upload, or if its part cannot be removed.
    private func giveUp(_ id: UploadID) -> Bool {
        guard multiparts.forget(id) else { return false }
        do throws(Failure) {
            try store.parts?.removePart(id)
        } catch {
            return false
        }
        known.forgetUnfinished([id]) { [self] id in hasPart(id) || multiparts[id] != nil }
        return true
    }

    /// Removes unfinished uploads that are too old.
    ///
    /// - Parameters:
    ///   - leftovers: whether to remove parts that no client can resume. The store can only tell which these are before
    ///     the first upload.
    ///   - age: returns the age in seconds of a moment in seconds since 1970; nil to use the machine's clock, for a
    ///     clock that is never set.
    /// - Returns: what was removed, and what is left.
    package func expire(
        leftovers: Bool, age: ((Int64) -> Int64)? = nil
    ) throws(Failure) -> (removed: UnfinishedContent, left: UnfinishedContent) {
        guard let parts = store.parts else { return (UnfinishedContent(), UnfinishedContent()) }
        var removed = leftovers ? try parts.removeLeftovers() : UnfinishedContent()
        let keep = keepUnfinished / 1_000_000_000
        let now = clock.utc() / 1_000_000_000
        let isOld = { (written: Int) in
            let moment = Int64(written)
            return (age?(moment) ?? now.subtractingReportingOverflow(moment).partialValue) > keep
        }
        let old = try parts.removeUnfinished(where: isOld, unless: { [multiparts] in multiparts[$0] != nil })
        removed.add(old)
        return (removed, try parts.unfinished())
    }
}

extension Failure {
    fileprivate static let noParts = Failure(
        .forbidden, "The server's store does not accept uploads in parts: send the file in one piece.")

    fileprivate static let noAppends = Failure(
        .forbidden, "The server's store does not accept resumable uploads: send the file in one piece.")
}

/// What the intake reports to the operator and not to clients.
package enum IntakeEvent: Sendable {
    /// - Parameter unrecorded: the uploads that were acknowledged without a record since the catalog last worked.
    case catalogFailed(RecordsError, unrecorded: Int)

    /// - Parameter unrecorded: the uploads that were acknowledged without a record meanwhile.
    case catalogWorks(unrecorded: Int)

    /// The directory is a copy of one that a server has used. Its files are compared with what was acknowledged.
    case directoryCopied

    /// A file of the copy could not be read; it is tried again.
    case notAdopted(RelativePath, Failure)

    /// Files in the trash were removed to make room.
    case trashGaveWay(GivenWay)

    /// All files of the copy were compared.
    case directoryAdopted(Adoption.Progress)
}

/// The clock of the intake. Tests pass another clock.
package struct IntakeClock: Sendable {
    /// Nanoseconds of a clock that only goes forward.
    package let monotonic: @Sendable () -> Int64

    /// UTC, in nanoseconds since 1970.
    package let utc: @Sendable () -> Int64

    /// The clock of this machine.
    package static let system = IntakeClock(monotonic: monotonicNanoseconds, utc: utcNanoseconds)

    package init(monotonic: @escaping @Sendable () -> Int64, utc: @escaping @Sendable () -> Int64) {
        (self.monotonic, self.utc) = (monotonic, utc)
    }
}

// MARK: What clients may replace and copy

extension Intake {
    /// Whether a client has stored a file, also if the directory is a copy.
    ///
    /// - Throws: `busy` if the server can only tell later.
    func hasStored(_ caller: Caller, _ path: RelativePath, _ file: ContentVersion) throws(Failure) -> Bool {
        if known.hasStored(caller, path, file) { return true }
        guard adoption.isOpen else { return false }
        switch adoption.adopt(path, file) {
        case .known: return known.hasStored(caller, path, file)
        case .later(let interval): throw .isChecked(path, interval)
        case .unknown: throw .cannotBeChecked(path, isInDoubt: store.isInDoubt)
        }
    }

    /// Adopts a file of a copied directory before its time of modification is changed: afterwards the server could not
    /// recognise it.
    ///
    /// - Throws: `busy` if the file can only be adopted later.
    func prepareChange(of path: RelativePath) throws(Failure) {
        guard adoption.isOpen, let version = store.version(at: path) else { return }
        if case .later(let interval) = adoption.adopt(path, version) { throw .isChecked(path, interval) }
    }
}

extension Intake {
    /// Publishes a copy of a stored file and records it, including changes that this server has made to the file
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - begun: when the client asked for the copy, in nanoseconds since 1970 (UTC).
    /// - Returns: the path of the content, and the trash batch that has the replaced file, if any; nil if the
    ///   path was taken and the conflict policy is to skip.
    /// - Throws: why it could not be published.
    package func publish(
        copy publication: Publication, _ kind: ContentKind, for caller: Caller, begun: Int64
    ) throws(Failure) -> (path: RelativePath, trash: TrashBatch?)? {
        let share = try quotas.share(for: publication, of: caller.grant)
        let (moment, marked) = (known.recentChanges.moment, marks([publication.path]))
        let batch = store.publish(
            [publication], acknowledged: known.acknowledged(at:_:), mayReplace: mayReplace(caller))
        known.restamp(batch)
        guard let file = PublishedFile(try batch.outcomes[0].get(), of: publication, for: caller) else { return nil }
        if let kept = file.kept { known.recentKeeps.add(kept, of: file.path) }
        let entry = file.entry(
            of: publication, kind, isDurable: store.durability == .commit, by: caller, begun: begun, at: clock.utc())
        if let settlement = batch.settlement {
            try OpenBatch(settlement, self).commit([entry], with: nil)
        } else {
            PublishedRecording(known: known, store: store).record([entry], with: nil, since: [moment], marked: marked)
        }
        share?.keepAll()
        return (file.path, file.kept?.batch)
    }

    /// The versions of the files at these paths that are known to be rotten.
    func marks(_ paths: [RelativePath]) -> [ContentVersion] {
        // A shared store marks files as sound in the transaction that publishes them (`Settlement.commit`).
        store.abilities.isShared ? [] : known.marks { store.versions(at: paths) }
    }

    /// Says whether a client may replace a file; nil for a client that may replace all files.
    func mayReplace(_ caller: Caller) -> ((RelativePath, ContentVersion) throws(Failure) -> Bool)? {
        guard !caller.mayReplaceAll else { return nil }
        return { (path, file) throws(Failure) in try self.hasStored(caller, path, file) }
    }
}

extension Failure {
    /// Refuses a request about a file of a copied directory that was not compared yet.
    ///
    /// - Parameter interval: when to ask again.
    static func isChecked(_ path: RelativePath, _ interval: Interval) -> Failure {
        Failure(
            .busy,
            "The server's directory is a copy, and \(path) is still being compared with the "
                + "acknowledged upload: try again later.",
            retryAfter: interval)
    }

    /// - Parameter isInDoubt: whether a sync has failed, so that what is read from the file may not be what is on the
    ///   disk.
    static func cannotBeChecked(_ path: RelativePath, isInDoubt: Bool) -> Failure {
        let reason =
            isInDoubt
            ? "until the server's machine is started again, because a sync has failed."
            : "now, because it cannot be read: the server's log says why."
        return Failure(
            .busy,
            "The server's directory is a copy, and \(path) cannot be compared with the acknowledged upload \(reason)")
    }

    /// Refuses a client without the right to remove that would replace another client's file.
    static func notYours(_ path: RelativePath) -> Failure {
        Failure(
            .forbidden,
            "\(path) was not stored by this client, which may replace only its own files. Push it with "
                + "another conflict policy, or under another name.")
    }
}
