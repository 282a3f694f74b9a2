import TransferAccess
package import TransferModel
import TransferPorts

/// What is checked of an upload before its content comes: whether its client may store it, where it goes, and whether it is
/// over already.
///
/// `IntakeSession.begin` makes one of each intent, and takes its steps in this order. The upload keeps it: what it is acknowledged
/// by, and what is published of it, is made of what was found here.
///
///     init ─► authorize ─► checkDeclaration ─► admit ─► over, repeated or wanted
struct UploadAdmission {
    /// What `admit` has found.
    enum Answer {
        /// The upload is over before its content.
        case over(UploadOutcome)
        /// Its id is acknowledged. The content comes all the same, to be compared with what was acknowledged.
        case repeated
        /// Its content is to come.
        ///
        /// - Parameter makesPlace: whether the place for it is made now, so that a lack of room is told before the content travels.
        case wanted(makesPlace: Bool)
    }

    /// What the client declares. Its path becomes the one in the server's directory when the client is found to may use it.
    private(set) var intent: UploadIntent

    /// The path as the client names it.
    let clientPath: String

    /// Where the content is to be stored; nil until that is checked.
    private(set) var path: RelativePath?

    /// The path that the acknowledgement states; differs from `path` for mail alone.
    private(set) var statedPath: RelativePath?

    let intake: Intake
    let caller: Caller

    /// The push that the connection is part of.
    let run: UInt64?

    /// When the client came with the upload, in nanoseconds of the monotonic clock.
    let started: Int64

    /// The `moment` of the acknowledged uploads before this one was looked for among them.
    private let moment: Int

    init(_ intent: UploadIntent, in intake: Intake, for caller: Caller, run: UInt64?) {
        (self.intent, self.intake, self.caller, self.run) = (intent, intake, caller, run)
        clientPath = intent.path
        started = intake.clock.monotonic()
        moment = intake.known.recent.moment
    }

    /// Bytes that the client may store at once.
    var limit: UInt64 { caller.maximumUpload(of: intake.maximumUpload) }

    /// The client's quota; nil for a client that has none.
    var quota: Quota? { intake.quotas.quota(for: caller.grant) }

    /// What the upload claims before it is published: one that came whole over a connection that was lost may come in parts over
    /// the next. Parts have no claim, nor has an append upload, because no other upload has its id.
    var claim: RecentResults.Claim { .init(id: intent.id, begun: moment) }

    /// The name that the sender of mail gives it, and bytes of its note; nil for what is no mail.
    var mailed: (name: String, note: Int)? { intent.isMail ? (clientPath, intent.note?.count ?? 0) : nil }

    /// Bytes of its names in memory, and of its note: each path stands there as its sender and as the server calls it.
    var bytesOfNames: Int { clientPath.utf8.count + intent.path.utf8.count + (intent.note?.count ?? 0) }
}

// MARK: What the client may do, and declares

extension UploadAdmission {
    /// Gives the upload its place in the server's directory.
    ///
    /// - Parameter refusal: why the client may begin nothing any more; nil where it may.
    /// - Throws: what the refusal says; `forbidden` for a client that may not send; `invalidPath`.
    mutating func authorize(unless refusal: Refusal?) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        intent.path = try caller.pathForUpload(intent.path)
    }

    /// Compares where the upload goes, and how large it may be, with what the client may do by now.
    ///
    /// - Parameters:
    ///   - refusal: why the client may do nothing any more; nil where it may.
    ///   - size: bytes that have come.
    func reauthorize(for caller: Caller, unless refusal: Refusal?, size: UInt64) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        // The same place: another folder has other owners.
        guard try caller.pathForUpload(clientPath) == intent.path else { throw .accessChanged }
        let limit = caller.maximumUpload(of: intake.maximumUpload)
        guard max(size, intent.leastSize) <= limit else { throw .uploadTooLarge(limit) }
    }

    /// Checks what is declared, before anything else is known of the upload or remembered of it.
    mutating func checkDeclaration() throws(Failure) {
        let stated: RelativePath
        do throws(RelativePath.Fault) {
            stated = try RelativePath(intent.path)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
        let limit = limit
        if intent.leastSize > limit { throw .uploadTooLarge(limit) }
        if intent.isMail {
            try intake.mail.admit(intent, from: caller)
            // No other upload can have that place, so nothing there is replaced.
            (path, intent.conflict) = (RelativePath.mail(intent.wholeID), .keepBoth)
        } else {
            path = stated
            guard intake.store.abilities.replacesNothing || intent.conflict == .overwrite else { throw .onlyReplacing }
        }
        statedPath = stated
        switch intent.extent {
        case .whole: break
        case .part, .multipart: _ = try intake.partStore()
        case .append: _ = try intake.appendStore()
        }
    }
}

// MARK: Whether the upload is over

extension UploadAdmission {
    /// Looks for an acknowledgement of the upload, and whether its path has a chance.
    ///
    /// - Parameter mayEnd: whether the sender waits for an answer, so that the content need not come. Otherwise it does, and can be
    ///   compared with what was stored before.
    func admit(mayEnd: Bool) throws(Failure) -> Answer {
        guard let path else { throw .notAdmitted }
        if let earlier = try acknowledgement() { return mayEnd ? .over(.acknowledged(earlier)) : .repeated }
        if mayEnd, let interval = intake.isChecked(for: intent.wholeID) { throw .isChecked(path, interval) }
        guard mayEnd || !isAdmittedAnyway else { return .wanted(makesPlace: false) }
        // The file with this name may be this upload, published by a server that died before it recorded it: they are compared.
        if let size = intent.sizeOfAll, intake.store.version(at: path)?.size == size {
            return .wanted(makesPlace: false)
        }
        try checkReplacing(path)
        try checkVersion(path)
        guard try intake.store.admit(path, size: intent.uploadSize, conflict: intent.conflict) == .skipped,
            !isToBeHealed(path)
        else { return .wanted(makesPlace: intent.isLong) }
        // What stands there may come from this very upload, over a connection that was lost.
        guard !isBeingCompleted else { throw .beingCompleted }
        // A file is not known as it is now before its change is durable and the catalog was told.
        guard !intake.changing.hold(path), intake.known.tellUntold() == nil else { throw .isChanging(path) }
        if let earlier = try acknowledgement() { return mayEnd ? .over(.acknowledged(earlier)) : .repeated }
        return .over(.skipped(size: 0, message: "\(path) was there already."))
    }

    /// Whether no file under the path could end the upload now. One that keeps both takes another name, and a short one that replaces
    /// what is there is compared when it is published: to look twice would cost more than its content.
    private var isAdmittedAnyway: Bool {
        switch intent.conflict {
        case .keepBoth: true
        case .overwrite: intent.extent == .whole && !intent.isLong
        case .skip, .fail: false
        }
    }

    /// Whether another connection has brought all of the upload, and has no acknowledgement yet.
    private var isBeingCompleted: Bool {
        intake.known.recent.isClaimed(intent.wholeID) || intake.multiparts[intent.wholeID]?.isFinished ?? false
    }

    /// Refuses content that has no chance; this is asked again when the upload is published. Content of the same size may be the same.
    private func checkReplacing(_ path: RelativePath) throws(Failure) {
        guard intent.conflict == .overwrite, !caller.mayReplaceAll, let file = intake.store.version(at: path),
            intent.uploadSize.map({ $0 != file.size }) ?? false, try !intake.hasStored(caller, path, file)
        else { return }
        throw .notYours(path)
    }

    /// Refuses content that could not be published: it is compared again when the upload gets its path. Content of the same size may
    /// be the same.
    private func checkVersion(_ path: RelativePath) throws(Failure) {
        guard let version = intent.replaceable, let file = intake.store.version(at: path), file.told != version,
            intent.uploadSize.map({ $0 != file.size }) ?? false
        else { return }
        throw .isNotSeen(path)
    }

    /// A rotten file does not end the upload, which may bring back what the file was.
    private func isToBeHealed(_ path: RelativePath) -> Bool {
        intake.store.version(at: path).map { intake.known.isRotten($0) } ?? false
    }
}

// MARK: What was acknowledged before

extension UploadAdmission {
    /// The acknowledgement that the id already has, as long as the stored file is surely what was acknowledged.
    ///
    /// - Throws: `contentMismatch` when the content cannot be the same.
    func acknowledgement() throws(Failure) -> Acknowledgement? {
        // The id of a part is never acknowledged.
        if case .part = intent.extent { return nil }
        if intent.isMail { return try mailAcknowledgement() }
        guard let found = intake.stillStored(intent.id, intent.function, for: caller, hasRotten: true) else {
            return nil
        }
        guard intent.uploadSize ?? found.entry.size == found.entry.size else { throw .idHasOtherContent }
        return Acknowledgement(again: found, run: run, kind: intent.kind)
    }

    /// The same for mail: all of its recipients have it or can still have it.
    private func mailAcknowledgement() throws(Failure) -> Acknowledgement? {
        guard let statedPath, let found = try intake.stillDelivered(intent, at: statedPath) else { return nil }
        guard intent.size ?? found.size == found.size else { throw .idHasOtherContent }
        return Acknowledgement(again: found, kind: intent.kind)
    }

    /// The acknowledgement of an upload that may not be completed here, because another connection is at it or was faster.
    ///
    /// - Throws: `busy` when there is none yet, or none any more; `contentMismatch`.
    func acknowledgedElsewhere(_ publication: Publication) throws(Failure) -> Acknowledgement {
        guard let earlier = try acknowledgement() else { throw .beingCompleted }
        return try earlier.compared(size: publication.size, publication.digest)
    }
}

extension Acknowledgement {
    /// - Returns: this, for content that is what was acknowledged.
    /// - Throws: `contentMismatch`.
    func compared(size: UInt64, _ digest: Digest) throws(Failure) -> Acknowledgement {
        guard self.size == size, self.digest == digest else { throw .idHasOtherContent }
        return self
    }
}

// MARK: What is published

extension UploadAdmission {
    /// What the store is to publish of verified content.
    ///
    /// - Throws: `storageFailed` if the path was never checked, which only a mistake of this server can bring about.
    func publication(_ staged: any StagedContent, _ size: UInt64, _ digest: Digest) throws(Failure) -> Publication {
        guard let path else { throw .notAdmitted }
        var publication = Publication(
            staged: staged, id: intent.id, path: path, size: size, digest: digest, conflict: intent.conflict,
            modified: intent.modified, permissions: intent.permissions)
        publication.keepsPermissions = intent.keepsPermissions
        publication.attributes = intent.attributes
        publication.replaceable = intent.replaceable
        if !caller.mayReadAll {
            publication.mayCompare = { [intake, caller] in !intake.known.isOfAnother(than: caller, $0, $1) }
        }
        return publication
    }
}

extension Failure {
    /// The client wants to keep what has a name, where the store cannot see to that.
    fileprivate static let onlyReplacing = Failure(
        .forbidden,
        "The server's store can only replace what has a name: push with the conflict policy that overwrites.")

    fileprivate static let accessChanged = Failure(
        .forbidden, "What this client may do was changed while the upload came: send it again, to where it may go now.")

    static let idHasOtherContent = Failure(.contentMismatch, "The upload id was used for other content.")

    /// - Parameter limit: bytes that the client may store at once.
    package static func uploadTooLarge(_ limit: UInt64) -> Failure {
        Failure(.uploadTooLarge, "The server takes no more than \(limit) bytes.")
    }
}
