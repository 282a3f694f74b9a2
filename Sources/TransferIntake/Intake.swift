package import Synchronization
import TransferKeys
package import TransferMail
package import TransferModel
package import TransferReceipts
package import TransferPorts
import TransferSystem

/// The one place that takes uploads in and acknowledges them, whatever way they came: what all callers share. Each of them
/// calls through an `IntakeSession` of its own.
package final class Intake: Sendable {
    package struct Configuration: Sendable {
        /// Uploads in parts that may be under way; each holds a descriptor.
        package var maximumMultiparts: Int

        /// Uploads that are published together at most.
        package var filesAtOnce: Int

        /// Bytes of an upload.
        package var maximumUpload: UInt64

        /// Nanoseconds that an unfinished upload is kept for when nothing is added to it.
        package var keepUnfinished: Int64

        package init(maximumMultiparts: Int, filesAtOnce: Int, maximumUpload: UInt64, keepUnfinished: Int64) {
            (self.maximumMultiparts, self.filesAtOnce) = (maximumMultiparts, filesAtOnce)
            (self.maximumUpload, self.keepUnfinished) = (maximumUpload, keepUnfinished)
        }
    }

    package let store: any ContentStore

    /// What was acknowledged, and what is unfinished.
    package let known: KnownUploads

    package let multiparts: MultipartUploads

    package let quotas: CallerQuotas

    /// Lets what was acknowledged hold in a copy of the directory.
    package let adoption: Adoption

    /// Uploads that are for other people.
    package let mail: MailDelivery

    /// Gives receipts to callers that ask; nothing where acknowledgements don't promise enough for that.
    let issuer: ReceiptIssuer?

    /// What is being changed beside uploads.
    let changing = ChangingPaths()

    let clock: IntakeClock

    let report: @Sendable (IntakeEvent) -> Void

    /// Uploads that a session publishes together at most.
    let filesAtOnce: Int

    /// Whether nothing new is taken in; of uploads in parts, what belongs to one that is under way still is.
    package let isStopping = Atomic(false)

    /// Requests for uploads that grow: the newest one has the upload, whatever connection it came over.
    private let requests = Atomic(0)

    func nextRequest() -> Int { requests.wrappingAdd(1, ordering: .relaxed).newValue }

    private let largest: Atomic<UInt64>

    private let keeping: Atomic<Int64>

    /// - Parameters:
    ///   - records: what is remembered of uploads.
    ///   - mailroom: the mailboxes, where there are any.
    ///   - signer: whose receipts are given; nothing for none.
    ///   - mark: of the store's directory; nil where that cannot be a copy.
    ///   - report: is told what an operator has to hear of, from any thread.
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

    /// Bytes of an upload that are taken at most, before the caller's own limit.
    package var maximumUpload: UInt64 {
        get { largest.load(ordering: .relaxed) }
        set { largest.store(newValue, ordering: .relaxed) }
    }

    /// Nanoseconds that an unfinished upload is kept for when nothing is added to it.
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

    /// What receipts are verified with; nothing where none are given.
    package var receiptKey: [UInt8]? { issuer?.key.raw.bytes }

    /// As `ServerIdentity.proof`; nil for a server that gives no receipts.
    package func receiptKeyProof(on channelBinding: [UInt8]) -> [UInt8]? { issuer?.keyProof(on: channelBinding) }
}

// MARK: Unfinished uploads

extension Intake {
    /// Whether there is a part of the upload in the store, or what says what has become of it.
    func hasPart(_ id: UploadID) -> Bool { store.parts?.hasPart(id) ?? false }

    /// - Throws: `forbidden` where the store takes no uploads in parts.
    func partStore() throws(Failure) -> any PartStore {
        guard let parts = store.parts else { throw .noParts }
        return parts
    }

    /// - Throws: `forbidden` where the store takes no append uploads.
    func appendStore() throws(Failure) -> any AppendStore {
        guard let appends = store.appends else { throw .noAppends }
        return appends
    }

    /// Lets the catalog forget the unfinished uploads whose parts are gone: taken back, refused, or too old.
    package func forgetUnfinished() {
        known.forgetUnfinished { [self] in multiparts[$0] != nil || hasPart($0) }
    }

    /// Finds a place for one more unfinished upload of a client. Where it has its share, or none is free, an older one gives way that
    /// nobody works on.
    ///
    /// - Throws: `busy` when there is none; `insufficientStorage`.
    func makePlace(for caller: Caller) throws(Failure) {
        try store.checkRoom()
        guard case .instead(let uploads) = known.place(for: caller) else { return }
        guard uploads.contains(where: giveUp) else { throw .tooManyUnfinished }
    }

    /// - Returns: false where somebody works on it, or it cannot be removed.
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
    ///   - leftovers: whether to remove what nobody can resume, which is only known before the first upload.
    ///   - age: seconds for which something has been there that came at a moment, in seconds since 1970; nil where nobody sets the
    ///     machine's clock.
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
    fileprivate static let noParts = Failure(.forbidden, "The server's store takes no uploads in parts: send it whole.")

    fileprivate static let noAppends = Failure(
        .forbidden, "The server's store takes no uploads that grow: send it whole.")
}

/// What an operator has to hear of, which no caller is told.
package enum IntakeEvent: Sendable {
    /// - Parameter unrecorded: uploads that were acknowledged without it since it last worked.
    case catalogFailed(RecordsError, unrecorded: Int)

    /// - Parameter unrecorded: uploads that were acknowledged without it meanwhile.
    case catalogWorks(unrecorded: Int)

    /// The directory is a copy of one that a server has stored in; its files are compared with what was acknowledged.
    case directoryCopied

    /// A file of the copy could not be read, and is tried again.
    case notAdopted(RelativePath, Failure)

    /// Something in the trash has given way to what needed its room.
    case trashGaveWay(GivenWay)

    /// All of them were.
    case directoryAdopted(Adoption.Progress)
}

/// The time, as the intake is told it.
package struct IntakeClock: Sendable {
    /// Nanoseconds that only grow.
    package let monotonic: @Sendable () -> Int64

    /// UTC, in nanoseconds since 1970.
    package let utc: @Sendable () -> Int64

    /// This machine's.
    package static let system = IntakeClock(monotonic: monotonicNanoseconds, utc: utcNanoseconds)

    package init(monotonic: @escaping @Sendable () -> Int64, utc: @escaping @Sendable () -> Int64) {
        (self.monotonic, self.utc) = (monotonic, utc)
    }
}

// MARK: What clients may replace and copy

extension Intake {
    /// Whether a client has stored a file, also in a copy of the directory.
    ///
    /// - Throws: `busy` where that can only be told later.
    func hasStored(_ caller: Caller, _ path: RelativePath, _ file: ContentVersion) throws(Failure) -> Bool {
        if known.hasStored(caller, path, file) { return true }
        guard adoption.isOpen else { return false }
        switch adoption.adopt(path, file) {
        case .known: return known.hasStored(caller, path, file)
        case .later(let interval): throw .isChecked(path, interval)
        case .unknown: throw .cannotBeChecked(path, isInDoubt: store.isInDoubt)
        }
    }

    /// Lets a file be known as it is before it gets another time of modification: behind that it could not be told from other files.
    ///
    /// - Throws: `busy` where that can only be done later.
    func prepareChange(of path: RelativePath) throws(Failure) {
        guard adoption.isOpen, let version = store.version(at: path) else { return }
        if case .later(let interval) = adoption.adopt(path, version) { throw .isChecked(path, interval) }
    }
}

extension Intake {
    /// Publishes a copy of what is stored, and records it as this server's changes have left it since.
    ///
    /// - Parameters:
    ///   - begun: when the client asked for it, in nanoseconds since 1970 (UTC).
    /// - Returns: where the content is, and the part of the trash that has what it took the place of, if one has; nil if the path was
    ///   taken and was to be left.
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
            PublishedRecording(known: known, store: store).record([entry], with: nil, since: moment, marked: marked)
        }
        share?.keepAll()
        return (file.path, file.kept?.batch)
    }

    /// Those of the files with these paths that are known to be rotten.
    func marks(_ paths: [RelativePath]) -> [ContentVersion] { known.marks { store.versions(at: paths) } }

    /// Whether a client may replace a file; nil for a client that may replace all.
    func mayReplace(_ caller: Caller) -> ((RelativePath, ContentVersion) throws(Failure) -> Bool)? {
        guard !caller.mayReplaceAll else { return nil }
        return { (path, file) throws(Failure) in try self.hasStored(caller, path, file) }
    }
}

extension Failure {
    /// A client wants something of a file that is not read yet.
    ///
    /// - Parameter interval: when to ask again.
    static func isChecked(_ path: RelativePath, _ interval: Interval) -> Failure {
        Failure(
            .busy,
            "The server's directory is a copy, and \(path) is being compared with what was acknowledged: try again later.",
            retryAfter: interval)
    }

    /// - Parameter isInDoubt: whether a sync has failed, so that the file as it is read may not be the file on the disk.
    static func cannotBeChecked(_ path: RelativePath, isInDoubt: Bool) -> Failure {
        let reason =
            isInDoubt
            ? "until the server's machine is started again, because a sync has failed."
            : "now, because it cannot be read: the server's log says why."
        return Failure(
            .busy,
            "The server's directory is a copy, and \(path) cannot be compared with what was acknowledged \(reason)")
    }

    /// Refuses a sender without the right to remove, which would replace a file of another sender.
    static func notYours(_ path: RelativePath) -> Failure {
        Failure(
            .forbidden,
            "\(path) was not stored by this client, which may not replace what others have stored. Push it with another "
                + "conflict policy, or under another name.")
    }
}
