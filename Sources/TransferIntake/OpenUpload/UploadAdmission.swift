import TransferAccess
package import TransferModel
import TransferPorts

/// What is checked of an upload before its content: whether its client may store it, where it goes, and whether it is
/// over already.
///
/// `IntakeSession.begin` makes one for each intent and takes its steps in this order. The upload keeps it, because its
/// publication and its acknowledgement use what was found here.
///
///     init ─► authorize ─► checkDeclaration ─► admit ─► over, repeated or wanted
struct UploadAdmission {
    /// What `admit` has found out.
    enum Answer {
        /// The upload is over before its content.
        case over(UploadOutcome)
        /// The id is acknowledged. The content is sent nevertheless, and compared with what was acknowledged.
        case repeated
        /// The content is wanted.
        ///
        /// - Parameter makesPlace: whether its place is made now, so that the client learns of a lack of room before it
        ///   sends the content.
        case wanted(makesPlace: Bool)
    }

    /// What the client declares. `authorize` replaces its path by the one in the server's directory.
    private(set) var intent: UploadIntent

    /// The path as the client names it.
    let clientPath: String

    /// Where the content will be stored; nil before `checkDeclaration`.
    private(set) var path: RelativePath?

    /// The path that the acknowledgement states; differs from `path` only for mail.
    private(set) var statedPath: RelativePath?

    let intake: Intake
    let caller: Caller

    /// The push that the connection belongs to.
    let run: UInt64?

    /// When the client began the upload, in nanoseconds of the monotonic clock.
    let started: Int64

    /// `RecentResults.moment` before the id was looked up.
    private let moment: Int

    /// Whether `admit` has looked for nothing, so that `CommitPipeline` has to do so before it publishes.
    private(set) var isToBeLookedUp = false

    init(_ intent: UploadIntent, in intake: Intake, for caller: Caller, run: UInt64?) {
        (self.intent, self.intake, self.caller, self.run) = (intent, intake, caller, run)
        clientPath = intent.path
        started = intake.clock.monotonic()
        moment = intake.known.recent.moment
    }

    /// The most bytes that one upload of the client may have.
    var limit: UInt64 { caller.maximumUpload(of: intake.maximumUpload) }

    /// The client's quota; nil for a client that has none.
    var quota: Quota? { intake.quotas.quota(for: caller.grant) }

    /// The claim on the upload's id before the upload is published. A whole upload needs a claim as well, because the
    /// client may repeat it in parts after its connection is lost. Parts and append uploads have no claim, because no
    /// other upload has their id.
    var claim: RecentResults.Claim { .init(id: intent.id, begun: moment) }

    /// The name that the sender gives to mail, and the bytes of the note; nil for an upload that is no mail.
    var mailed: (name: String, note: Int)? { intent.isMail ? (clientPath, intent.note?.count ?? 0) : nil }

    /// Bytes of memory for its names and note. The path counts twice, as the client and as the server names it.
    var bytesOfNames: Int { clientPath.utf8.count + intent.path.utf8.count + (intent.note?.count ?? 0) }
}

// MARK: Rights and declaration

extension UploadAdmission {
    /// Replaces the path by the one in the server's directory.
    ///
    /// - Parameter refusal: why the client may begin nothing more; nil if it may.
    /// - Throws: the refusal; `forbidden` for a client that may not send; `invalidPath`.
    mutating func authorize(unless refusal: Refusal?) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        intent.path = try caller.pathForUpload(intent.path)
    }

    /// Checks path and size against what the client may do now.
    ///
    /// - Parameters:
    ///   - refusal: why the client may do nothing more; nil if it may.
    ///   - size: bytes that have arrived.
    func reauthorize(for caller: Caller, unless refusal: Refusal?, size: UInt64) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        // The path must still map to the same place, because the client's folder may have changed.
        guard try caller.pathForUpload(clientPath) == intent.path else { throw .accessChanged }
        let limit = caller.maximumUpload(of: intake.maximumUpload)
        guard max(size, intent.leastSize) <= limit else { throw .uploadTooLarge(limit) }
    }

    /// Checks what is declared, before anything is looked up or remembered of the upload.
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
            // No other upload can have this path, so no file is replaced.
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
    /// Looks for an acknowledgement of the upload, and checks whether the upload can be stored at its path.
    ///
    /// - Parameter mayEnd: whether the client waits for an answer, so that it need not send the content. If it does not
    ///   wait, the content follows and can be compared with what is stored.
    mutating func admit(mayEnd: Bool) throws(Failure) -> Answer {
        guard let path else { throw .notAdmitted }
        // Records that other servers write are not in memory, and one look for a whole batch takes as long as one for an upload.
        if !mayEnd, intake.known.isShared, intent.extent == .whole, !intent.isLong, !intent.isMail, isAdmittedAnyway {
            isToBeLookedUp = true
            return .wanted(makesPlace: false)
        }
        if let earlier = try acknowledgement() { return mayEnd ? .over(.acknowledged(earlier)) : .repeated }
        if mayEnd, let interval = intake.isChecked(for: intent.wholeID) { throw .isChecked(path, interval) }
        guard mayEnd || !isAdmittedAnyway else { return .wanted(makesPlace: false) }
        // The file at the path may be this very upload, published by a server that died before it recorded the upload.
        // In that case the two are compared.
        if let size = intent.sizeOfAll, intake.store.version(at: path)?.size == size {
            return .wanted(makesPlace: false)
        }
        try checkReplacing(path)
        try checkVersion(path)
        guard try intake.store.admit(path, size: intent.uploadSize, conflict: intent.conflict) == .skipped,
            !isToBeHealed(path)
        else { return .wanted(makesPlace: intent.isLong) }
        // The file at the path may come from this very upload, over a connection that was lost.
        guard !isBeingCompleted else { throw .beingCompleted }
        // While a file is being changed, its version is not known until the change is durable and recorded.
        guard !intake.changing.hold(path), intake.known.tellUntold() == nil else { throw .isChanging(path) }
        if let earlier = try acknowledgement() { return mayEnd ? .over(.acknowledged(earlier)) : .repeated }
        guard !isUnrecorded else { return .wanted(makesPlace: false) }
        return .over(.skipped(size: 0, message: "\(path) exists already."))
    }

    /// Whether the upload continues even if there is a file at its path. With `keepBoth` it takes another name, and a
    /// short upload that overwrites is compared when it is published: a second look would cost more than its content.
    private var isAdmittedAnyway: Bool {
        switch intent.conflict {
        case .keepBoth: true
        case .overwrite: intent.extent == .whole && !intent.isLong
        case .skip, .fail: false
        }
    }

    /// Whether the file at the path may be this upload in parts, published by a server that died before it recorded the
    /// upload.
    private var isUnrecorded: Bool {
        intent.extent == .multipart && intake.store.parts?.isUnrecorded(intent.id) ?? false
    }

    /// Whether another connection has sent the complete upload, and has no acknowledgement yet.
    private var isBeingCompleted: Bool {
        intake.known.recent.isClaimed(intent.wholeID) || intake.multiparts[intent.wholeID]?.isFinished ?? false
    }

    /// Refuses content that the client may not store over another client's file. Content of the same size may be the
    /// same content. Checked again when the upload is published.
    private func checkReplacing(_ path: RelativePath) throws(Failure) {
        guard intent.conflict == .overwrite, !caller.mayReplaceAll, let file = intake.store.version(at: path),
            intent.uploadSize.map({ $0 != file.size }) ?? false, try !intake.hasStored(caller, path, file)
        else { return }
        throw .notYours(path)
    }

    /// Refuses content that may not replace the version at the path. Content of the same size may be the same content.
    /// Checked again when the upload is published.
    private func checkVersion(_ path: RelativePath) throws(Failure) {
        guard let version = intent.replaceable, let file = intake.store.version(at: path), file.told != version,
            intent.uploadSize.map({ $0 != file.size }) ?? false
        else { return }
        throw .isNotSeen(path)
    }

    /// Whether the file at the path is rotten: then the upload is not skipped, because it may restore the content.
    private func isToBeHealed(_ path: RelativePath) -> Bool {
        intake.store.version(at: path).map { intake.known.isRotten($0) } ?? false
    }
}

// MARK: Earlier acknowledgements

extension UploadAdmission {
    /// The acknowledgement that the id already has, if the stored file is certainly what was acknowledged.
    ///
    /// - Throws: `contentMismatch` if the content cannot be the same.
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

    /// The acknowledgement that mail already has, if every recipient has received it or still can.
    private func mailAcknowledgement() throws(Failure) -> Acknowledgement? {
        guard let statedPath, let found = try intake.stillDelivered(intent, at: statedPath) else { return nil }
        guard intent.size ?? found.size == found.size else { throw .idHasOtherContent }
        return Acknowledgement(again: found, kind: intent.kind)
    }

    /// The acknowledgement of an upload that this connection may not complete, because another connection completes it
    /// or has completed it.
    ///
    /// - Throws: `busy` if there is no acknowledgement yet, or none any more; `contentMismatch`.
    func acknowledgedElsewhere(_ publication: Publication) throws(Failure) -> Acknowledgement {
        guard let earlier = try acknowledgement() else { throw .beingCompleted }
        return try earlier.compared(size: publication.size, publication.digest)
    }
}

extension Acknowledgement {
    /// - Returns: self, if the content is what was acknowledged.
    /// - Throws: `contentMismatch`.
    func compared(size: UInt64, _ digest: Digest) throws(Failure) -> Acknowledgement {
        guard self.size == size, self.digest == digest else { throw .idHasOtherContent }
        return self
    }
}

// MARK: The publication

extension UploadAdmission {
    /// What the store will publish of verified content.
    ///
    /// - Throws: `storageFailed` if the path was never checked, which only a defect of this server can cause.
    func publication(_ staged: any StagedContent, _ size: UInt64, _ digest: Digest) throws(Failure) -> Publication {
        guard let path else { throw .notAdmitted }
        var publication = Publication(
            staged: staged, id: intent.id, path: path, size: size, digest: digest, conflict: intent.conflict,
            modified: intent.modified, permissions: intent.permissions)
        publication.keepsPermissions = intent.keepsPermissions
        publication.attributes = intent.attributes
        publication.replaceable = intent.replaceable
        publication.origin = UploadOrigin(intent.kind, sender: caller.sender, client: caller.id, run: run)
        if !caller.mayReadAll {
            publication.mayCompare = { [intake, caller] in !intake.known.isOfAnother(than: caller, $0, $1) }
        }
        return publication
    }
}

extension Failure {
    /// Refuses an upload that must not replace a file, if the store cannot guarantee that.
    fileprivate static let onlyReplacing = Failure(
        .forbidden,
        "The server's store cannot refuse or number existing names: push with the conflict policy 'overwrite'.")

    fileprivate static let accessChanged = Failure(
        .forbidden,
        "The access rights of this client were changed during the upload: send it again, to a path "
            + "that it may write now.")

    static let idHasOtherContent = Failure(.contentMismatch, "The upload id was used for other content.")

    /// - Parameter limit: the most bytes that one upload of the client may have.
    package static func uploadTooLarge(_ limit: UInt64) -> Failure {
        Failure(.uploadTooLarge, "The upload is larger than the \(limit) bytes that the server accepts.")
    }
}
