import TransferAccess
import TransferCatalog
import TransferCodec
package import TransferModel
package import TransferStore
import TransferSystem

/// An upload, or the part of one, whose content is coming: it goes to its place and through the digest as it comes.
///
/// Used by one thread at a time.
package final class OpenUpload {
    /// Where the bytes go.
    enum Target {
        case none
        case content(any StagedContent)
        case part(PartClaim)
        case append(AppendClaim)
    }

    /// Its path becomes that in the server's directory when the caller is found to may use it.
    package private(set) var intent: UploadIntent

    /// As its sender names it.
    private(set) var statedIntent: UploadIntent

    /// When the caller came with it, in nanoseconds of the monotonic clock.
    package let started: Int64

    /// Who sends it; nothing for one that cannot be told from others.
    package var client: UInt64? { caller.id }

    /// What a part belongs to, or whose end this is; set before anything else is asked for.
    var multipart: MultipartUpload?

    /// The acknowledgement that this id already has: then nothing is stored, only compared.
    private var earlier: Acknowledgement?

    /// The push that the connection is part of.
    let run: UInt64?

    /// What has to have the path when it is published; nil for anything. To be set before the upload is finished.
    package var condition: PublicationCondition?

    /// The command that it is part of; nil for the push of `run`. To be set before the upload is finished.
    package var command: StoringCommand?

    /// What it appends to; nil for any other upload.
    var appendUpload: AppendUpload?

    /// Whether its sender can go on with it over another connection.
    var isAnnounced = false

    let intake: Intake
    let caller: Caller
    private let connection: Int
    /// Of the acknowledged uploads, before this one was looked for among them.
    private let moment: Int
    private let digester: ContentDigester
    /// Where it is to be stored, once that is checked.
    package private(set) var path: RelativePath?
    /// What its acknowledgement calls it: the same place, but for what is for somebody.
    private(set) var statedPath: RelativePath?
    var target = Target.none
    private var lastBlock: (index: UInt64, digest: [UInt8])?
    /// Of a part's blocks, one after the other.
    private var blockDigests: [UInt8] = []

    /// Whether nothing more is taken, because the connection has gone or the upload was given up.
    private var isOver = false

    /// Bytes of content taken in.
    package internal(set) var size: UInt64 = 0

    /// - Parameters:
    ///   - connection: the number of the one it comes over.
    ///   - run: the push that the connection is part of.
    ///   - digester: reset; the session's, used by one upload at a time.
    init(
        _ intent: UploadIntent, in intake: Intake, for caller: Caller, connection: Int, run: UInt64?,
        digester: ContentDigester
    ) {
        (self.intent, statedIntent, self.intake, self.caller) = (intent, intent, intake, caller)
        (self.connection, self.run, self.digester) = (connection, run, digester)
        started = intake.clock.monotonic()
        moment = intake.known.recent.moment
    }

    /// Whether the content has, or may have, more than one block. Short uploads are over as soon as they have begun.
    package var isLong: Bool {
        guard intent.extent != .multipart else { return false }
        return intent.size.map { $0 > UInt64(Limits.blockSize) } ?? true
    }

    /// Whether this is the first that is heard of a long upload.
    package var opensLongUpload: Bool {
        if case .part(let part) = intent.extent { part.offset == 0 } else { isLong }
    }

    /// When the upload began that this is, or is a part of, in nanoseconds of the monotonic clock.
    package var began: Int64 { multipart?.started ?? started }

    /// Whether the upload that this is a part of is complete or given up.
    package var hasEndedMultipart: Bool { multipart?.isFinished ?? false }

    /// To be asked for before it is published: one that came whole over a connection that was lost may come in parts over the next.
    /// Nothing for one that grows, whose id nobody else has.
    var claim: RecentResults.Claim? {
        switch intent.extent {
        case .whole, .multipart: .init(id: intent.id, begun: moment)
        case .part, .append: nil
        }
    }

    /// What is for somebody: the name that its sender gives it, and bytes of its note.
    var mailed: (name: String, note: Int)? {
        intent.isMail ? (statedIntent.path, intent.note?.count ?? 0) : nil
    }

    /// Bytes of its names in memory, and of its note: each path stands there as its sender and as the server calls it.
    var bytesOfNames: Int { statedIntent.path.utf8.count + intent.path.utf8.count + (intent.note?.count ?? 0) }

    var limit: UInt64 { caller.maximumUpload(of: intake.maximumUpload) }
}

// MARK: Before the content

extension OpenUpload {
    /// Before anything else is done about it: lets it have its place in the server's directory.
    func authorize() throws(Failure) {
        statedIntent = intent
        intent.path = try caller.pathForUpload(intent.path)
    }

    /// Compares where it goes, and how large it may be, with what the client may do by now.
    func reauthorize(for caller: Caller) throws(Failure) {
        // The same place: another folder has other owners.
        guard try caller.pathForUpload(statedIntent.path) == intent.path else { throw .accessChanged }
        let limit = caller.maximumUpload(of: intake.maximumUpload)
        guard max(size, intent.leastSize) <= limit else { throw .uploadTooLarge(limit) }
    }

    /// Checks what is declared; before anything else is known of the upload, or remembered.
    ///
    /// - Returns: where it is to be stored.
    func checkDeclaration() throws(Failure) -> RelativePath {
        let stated = try checkedPath()
        if intent.leastSize > limit { throw tooLarge }
        if intent.isMail { try intake.admitMail(intent, from: caller) }
        // Nobody else can have that place, so nothing there is replaced.
        let path = intent.isMail ? RelativePath.mail(intent.wholeID) : stated
        (self.path, statedPath) = (path, stated)
        if intent.isMail { intent.conflict = .keepBoth }
        guard intake.store.abilities.replacesNothing || intent.conflict == .overwrite else { throw .onlyReplacing }
        return path
    }

    /// Checks what can be known before the content.
    ///
    /// - Parameters:
    ///   - path: where it is to be stored.
    ///   - mayEnd: whether the sender waits for an answer, so that the content need not come. Otherwise it does, and can be
    ///     compared with what was stored before.
    /// - Returns: the outcome, when the upload is over already.
    func admit(_ path: RelativePath, mayEnd: Bool) throws(Failure) -> UploadOutcome? {
        earlier = try acknowledgement()
        if let earlier { return mayEnd ? .acknowledged(earlier) : nil }
        if mayEnd, let interval = intake.isChecked(for: intent.wholeID) { throw .isChecked(path, interval) }
        guard mayEnd || !isAdmittedAnyway else { return nil }
        // What has its name may come from itself, under a server that has died: it is compared.
        if let size = sizeOfAll, intake.store.version(at: path)?.size == size { return nil }
        try checkReplacing(path)
        try checkVersion(path)
        guard try intake.store.admit(path, size: intent.uploadSize, conflict: intent.conflict) == .skipped,
            !isToBeHealed(path)
        else {
            if isLong { try open() }
            return nil
        }
        // What stands there may come from this very upload, over a connection that was lost.
        guard !isBeingCompleted else { throw .beingCompleted }
        // A file is not known as it is now before its change is durable and the catalog was told.
        guard !intake.changing.hold(path), intake.known.tellUntold() == nil else { throw .isChanging(path) }
        earlier = try acknowledgement()
        if let earlier { return mayEnd ? .acknowledged(earlier) : nil }
        return .skipped(size: 0, message: "\(path) was there already.")
    }

    /// Whether nothing of what is under the path could end the upload now: nothing keeps one out that takes another name, and what
    /// keeps out a short one that replaces what is there is found when it is published. To look twice costs more than its content.
    private var isAdmittedAnyway: Bool {
        switch intent.conflict {
        case .keepBoth: true
        case .overwrite: intent.extent == .whole && !isLong
        case .skip, .fail: false
        }
    }

    /// Whether another connection has brought all of the upload, and has no acknowledgement yet.
    private var isBeingCompleted: Bool {
        intake.known.recent.isClaimed(intent.wholeID) || intake.multiparts[intent.wholeID]?.isFinished ?? false
    }

    /// The acknowledgement that the id already has, as long as the stored file is surely what was acknowledged.
    ///
    /// - Throws: `contentMismatch` when the content cannot be the same.
    private func acknowledgement() throws(Failure) -> Acknowledgement? {
        // The id of a part is never acknowledged.
        if case .part = intent.extent { return nil }
        if intent.isMail { return try mailAcknowledgement() }
        guard let found = intake.stillStored(intent.id, intent.function, for: caller, hasRotten: true) else {
            return nil
        }
        guard intent.uploadSize ?? found.entry.size == found.entry.size else { throw .otherContent }
        return Acknowledgement(again: found, run: run, kind: intent.kind)
    }

    /// The same for what is for somebody: all of them have it or can still have it.
    private func mailAcknowledgement() throws(Failure) -> Acknowledgement? {
        guard let statedPath, let found = try intake.stillDelivered(intent, at: statedPath) else { return nil }
        guard intent.size ?? found.size == found.size else { throw .otherContent }
        return Acknowledgement(again: found, kind: intent.kind)
    }

    /// Asked again when it is published; this spares the way to content that has no chance. One of the same size may be the
    /// same.
    private func checkReplacing(_ path: RelativePath) throws(Failure) {
        guard intent.conflict == .overwrite, !caller.mayReplaceAll, let file = intake.store.version(at: path),
            intent.uploadSize.map({ $0 != file.size }) ?? false, try !intake.hasStored(caller, path, file)
        else { return }
        throw .notYours(path)
    }

    /// Spares content that could not be published: it is compared again when the upload gets its path. What has its size may have its
    /// content.
    private func checkVersion(_ path: RelativePath) throws(Failure) {
        guard let version = intent.replaceable, let file = intake.store.version(at: path), file.told != version,
            intent.uploadSize.map({ $0 != file.size }) ?? false
        else { return }
        throw .isNotSeen(path)
    }

    /// What is rotten is not left as it is before it is known whether this is what it was.
    private func isToBeHealed(_ path: RelativePath) -> Bool {
        intake.store.version(at: path).map { intake.known.isRotten($0) } ?? false
    }

    private func checkedPath() throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(intent.path)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
    }

    var tooLarge: Failure { .uploadTooLarge(limit) }
}

// MARK: Content

extension OpenUpload {
    /// Takes the next bytes of the content.
    ///
    /// - Parameter isHole: whether they are zeros that need no room.
    /// - Throws: `sizeMismatch`, `uploadTooLarge`, and what the store does. The upload is to be refused then.
    package func append(_ bytes: UnsafeRawBufferPointer, isHole: Bool = false) throws(Failure) {
        guard !bytes.isEmpty else { return }
        guard !isOver else { throw .notAdmitted }
        guard intent.extent != .multipart else {
            throw Failure(.sizeMismatch, "The end of a multipart upload has no content.")
        }
        let offset = size
        let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, end <= intent.size ?? end else {
            throw Failure(.sizeMismatch, "More than the declared \(intent.size ?? 0) bytes arrived.")
        }
        if case .append(let claim) = target { return try appendToEnd(bytes, claim) }
        guard end <= limit else { throw tooLarge }
        digester.update(bytes) { index, digest in
            lastBlock = (index, digest)
            if multipart != nil { blockDigests += digest }
        }
        size = end
        try open()
        switch target {
        case .none, .append: break
        case .content(let staged): try isHole ? staged.clear(offset..<end) : staged.write(bytes, at: offset)
        case .part(let claim): try isHole ? claim.clear(offset..<end) : claim.write(bytes, at: offset)
        }
    }

    /// Makes the place to write to, where the bytes are wanted at all.
    private func open() throws(Failure) {
        guard earlier == nil, case .none = target else { return }
        let quota = intake.quotas.quota(for: caller.grant)
        switch intent.extent {
        case .whole:
            target = .content(
                try intake.store.stage(
                    id: intent.id, size: intent.size, filled: intent.filled, permissions: intent.permissions,
                    quota: quota))
        case .part(let part):
            guard let multipart, let range = part.range(size: intent.size ?? 0) else { throw .declaredOtherwise }
            try checkLength(range, part, of: multipart)
            target = .part(
                try multipart.claim(
                    range, connection: connection, run: run, isInOrder: !intake.store.abilities.writesAnywhere
                ) { [intake, intent] () throws(Failure) in
                    try intake.store.resume(
                        id: part.upload, size: part.total, filled: intent.filled, quota: quota)
                })
        case .multipart, .append: break
        }
    }

    /// A part that is shorter than the store takes can only be the last one: where nobody knows the size yet, it ends the upload.
    private func checkLength(_ range: Range<UInt64>, _ part: UploadPart, of multipart: MultipartUpload) throws(Failure)
    {
        let least = intake.store.abilities.leastPart
        guard range.upperBound - range.lowerBound < least, range.upperBound != part.total else { return }
        guard part.total == nil else { throw .shortPart(least) }
        try multipart.check(total: range.upperBound, intent.function)
    }

    /// Compares the last block with what its sender says of it.
    ///
    /// - Throws: `digestMismatch`.
    package func check(_ index: UInt64, _ digest: Digest) throws(Failure) {
        guard let lastBlock, lastBlock.index == index, digest.algorithm.function == intent.function,
            lastBlock.digest == digest.bytes
        else { throw Failure(.digestMismatch, "Block \(index) arrived with another digest than declared.") }
    }

    /// The connection has gone. Of a part, whole blocks stay: they arrived as they were sent, as far as anybody knows.
    package func suspend() { discard(keepingBlocks: true) }

    /// Throws away what was received.
    func discard(keepingBlocks: Bool = false) {
        switch target {
        case .none: break
        case .content(let staged): staged.discard()
        case .part(let claim): claim.withdraw(digests: keepingBlocks ? blockDigests : [])
        case .append(let claim): leaveEnd(claim, keeps: keepingBlocks)
        }
        target = .none
        isOver = true
    }
}

// MARK: The end

extension OpenUpload {
    /// What came of content that is all there and as declared.
    enum Finish {
        case publish(Publication)
        case ended(UploadOutcome)
    }

    /// Compares what arrived with what the sender declared.
    func finish(_ end: DeclaredEnd) throws(Failure) -> Finish {
        if earlier != nil {
            // While the content came, the stored file may have been removed, replaced, or found rotten.
            guard let still = try acknowledgement() else { throw .changedMeanwhile }
            return .ended(.acknowledged(try compare(still, end)))
        }
        switch intent.extent {
        case .whole:
            let digest = try checked(end, size: size, digest: digester.finish().digest)
            try open()
            guard case .content(let staged) = target, let publication = publication(staged, size, digest) else {
                throw .notAdmitted
            }
            target = .none
            return .publish(publication)
        case .part: return .ended(try stage(end))
        case .multipart: return try finishParts(end)
        case .append(let append): return try finishAppend(append, end)
        }
    }

    /// Only parts that were verified here count. That the content is under its name already proves nothing of this client,
    /// who may know no more of it than its size and its digest; and to look would be to read all of it for a few bytes.
    private func finishParts(_ end: DeclaredEnd) throws(Failure) -> Finish {
        guard let total = intent.size, let multipart, let (staged, computed) = try multipart.finish(total: total) else {
            throw .missingParts
        }
        do throws(Failure) {
            let digest = try checked(end, size: total, digest: computed)
            try staged.trim(to: total)
            guard let publication = publication(staged, total, digest) else { throw .notAdmitted }
            return .publish(publication)
        } catch {
            // What the disk could not do now it may do later.
            if error.code.class != .server { staged.discard() }
            intake.multiparts.remove(multipart)
            throw error
        }
    }

    /// - Returns: the digest.
    private func checked(_ end: DeclaredEnd, size: UInt64, digest: Digest) throws(Failure) -> Digest {
        guard end.size ?? size == size, size == intent.size ?? size else {
            throw Failure(
                .sizeMismatch, "\(size) bytes arrived; \(intent.size ?? end.size ?? size) were declared.")
        }
        guard digest == end.digest ?? digest else {
            throw Failure(
                .digestMismatch,
                "The content arrived with the digest \(digest); \(end.digest ?? digest) was declared.")
        }
        return digest
    }

    /// For an id that has its acknowledgement. Who only sends the end of a multipart upload again has no content to compare.
    private func compare(_ earlier: Acknowledgement, _ end: DeclaredEnd) throws(Failure) -> Acknowledgement {
        guard intent.extent != .multipart else {
            return try compare(earlier, size: end.size ?? earlier.size, end.digest ?? earlier.digest)
        }
        let digest = try checked(end, size: size, digest: digester.finish().digest)
        return try compare(earlier, size: size, digest)
    }

    private func compare(
        _ earlier: Acknowledgement, size: UInt64, _ digest: Digest
    ) throws(Failure) -> Acknowledgement {
        guard earlier.size == size, earlier.digest == digest else { throw .otherContent }
        return earlier
    }

    /// The acknowledgement of an upload that may not be completed here, because another connection is at it or was faster.
    ///
    /// - Throws: `busy` when there is none yet, or none any more; `contentMismatch`.
    func acknowledgedElsewhere(_ publication: Publication) throws(Failure) -> Acknowledgement {
        guard let earlier = try acknowledgement() else { throw .beingCompleted }
        return try compare(earlier, size: publication.size, publication.digest)
    }

    private func stage(_ end: DeclaredEnd) throws(Failure) -> UploadOutcome {
        let (computed, last) = digester.finish()
        let digest = try checked(end, size: size, digest: computed)
        if let last { blockDigests += last.digest }
        // Less than a block: its digest is the content's.
        if blockDigests.isEmpty { blockDigests = digest.bytes }
        guard case .part(let claim) = target else { throw .notAdmitted }
        target = .none
        try claim.complete(digests: blockDigests)
        return .staged(size: size, digest)
    }

    /// - Returns: nothing for an upload that was not admitted.
    func publication(_ staged: any StagedContent, _ size: UInt64, _ digest: Digest) -> Publication? {
        path.map {
            var publication = Publication(
                staged: staged, id: intent.id, path: $0, size: size, digest: digest, conflict: intent.conflict,
                modified: intent.modified, permissions: intent.permissions)
            publication.keepsPermissions = intent.keepsPermissions
            publication.attributes = intent.attributes
            (publication.condition, publication.replaceable) = (condition, intent.replaceable)
            publication.command = command ?? run.map { StoringCommand(id: $0, mayRepeat: true) }
            if !caller.mayReadAll {
                publication.mayCompare = { [intake, caller] in !intake.known.isOfAnother(than: caller, $0, $1) }
            }
            return publication
        }
    }
}

extension Failure {
    /// The state of an upload is not what its frames say. Only a mistake of this server can bring that about, and it must
    /// cost that upload alone.
    static let notAdmitted = Failure(
        .storageFailed, "The server lost track of the upload, by a mistake of its own. The upload may be sent again.")

    /// To whoever wants to keep what has a name, where the store cannot see to that.
    fileprivate static let onlyReplacing = Failure(
        .forbidden,
        "The server's store can only replace what has a name: push with the conflict policy that overwrites.")

    fileprivate static func shortPart(_ least: UInt64) -> Failure {
        Failure(.sizeMismatch, "The server's store takes parts of \(least) bytes or more, but for the last one.")
    }

    /// - Parameter limit: bytes that the client may store at once.
    package static func uploadTooLarge(_ limit: UInt64) -> Failure {
        Failure(.uploadTooLarge, "The server takes no more than \(limit) bytes.")
    }

    fileprivate static let accessChanged = Failure(
        .forbidden, "What this client may do was changed while the upload came: send it again, to where it may go now.")

    static let otherContent = Failure(.contentMismatch, "The upload id was used for other content.")
}

extension Failure {
    fileprivate static let changedMeanwhile = Failure(
        .busy, "What was stored of the upload was changed while it came once more: send it again.")
}
