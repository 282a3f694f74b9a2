import TransferCodec
package import TransferModel
package import TransferPorts

/// One upload of a session, from its intent to its end.
///
/// `IntakeSession.begin` makes it, as one of the classes below. The front end passes content to `write` and `check`,
/// and then passes the upload to `IntakeSession.finish`, `refuse` or `abort`. `suspend` is called when the connection
/// is lost.
///
///     begin ─┬─► WholeUpload     all of the content, in order        ─┬─► finish ─► VerifiedUpload ─► CommitPipeline
///            ├─► PartUpload      blocks of a multipart upload        ─┤
///            ├─► AppendRequest   what one request appends            ─┤        └──► UploadOutcome
///            ├─► MultipartEnd    no content: its parts have arrived  ─┤
///            ├─► RepeatedUpload  compared with what is acknowledged  ─┘
///            └─► an outcome: the upload takes no content, as this class does      suspend, abort   ─► over
///
/// Used by one thread at a time.
package class OpenUpload {
    /// What the client declared, with the path in the server's directory. It is a copy of `admission.intent`, because
    /// front ends read single fields of it, and a computed property would copy all of them each time.
    package final let intent: UploadIntent

    /// What was checked before the content.
    final let admission: UploadAdmission

    /// The multipart or append upload that this is a part or a request of, or ends; nil for a whole upload.
    final let multipart: MultipartUpload?

    /// Bytes of content that have arrived.
    package internal(set) final var size: UInt64 = 0

    /// What must be at the path when the upload is published; nil for no condition. Has to be set before the upload is
    /// finished.
    package final var condition: PublicationCondition?

    /// The command that the upload belongs to; nil for the push of the connection. Has to be set before the upload is
    /// finished.
    package final var command: StoringCommand?

    init(_ admission: UploadAdmission, of multipart: MultipartUpload? = nil) {
        (intent, self.admission, self.multipart) = (admission.intent, admission, multipart)
    }

    /// Takes the next bytes of the content.
    ///
    /// - Parameter isHole: whether the bytes are zeros that need no room.
    /// - Throws: `sizeMismatch`, `uploadTooLarge`, and errors of the store. Then the upload has to be refused.
    package final func write(_ bytes: UnsafeRawBufferPointer, isHole: Bool = false) throws(Failure) {
        if !bytes.isEmpty { try store(bytes, isHole: isHole) }
    }

    /// Stores the bytes in the way of the subclass.
    ///
    /// - Parameter bytes: at least one.
    func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) { throw .notAdmitted }

    /// Compares the digest of the last block with the one that the client declares.
    ///
    /// - Throws: `digestMismatch`.
    package func check(_ index: UInt64, _ digest: Digest) throws(Failure) { throw .otherBlock(index) }

    /// Compares the content with what the client declared.
    func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding { throw .notAdmitted }

    /// Ends the upload of a lost connection. Whole blocks of a part are kept, and so is what an append upload has
    /// received.
    package func suspend() { discard() }

    /// Discards the content that was received.
    func discard() {}

    /// Removes what was kept for resuming the upload, once it is recorded.
    func forgetUnfinished() {
        if let multipart { admission.intake.multiparts.remove(multipart) }
    }

    /// Notes that the client may have learnt where to resume the upload. Only append uploads can be resumed in this
    /// way.
    package func announce() {}

    /// Bytes of an append upload that are durable.
    package var kept: UInt64 { 0 }

    /// The digest of all content of an append upload so far, as one piece instead of blocks.
    package func digest(by function: DigestFunction) throws(Failure) -> [UInt8] { throw .notAdmitted }
}

/// How an upload ended whose content matched its declaration.
enum UploadEnding {
    case verified(VerifiedUpload)
    case over(UploadOutcome)
}

extension OpenUpload {
    /// When the client began this upload, part or request, in nanoseconds of the monotonic clock.
    package final var started: Int64 { admission.started }

    /// When the whole upload began, in nanoseconds of the monotonic clock.
    package final var began: Int64 { multipart?.started ?? started }

    /// The client's number in the catalog; nil for a client without a key or token.
    package final var client: UInt64? { admission.caller.id }

    package final var isLong: Bool { intent.isLong }

    /// Whether this is the first request of a long upload.
    package final var opensLongUpload: Bool {
        if case .part(let part) = intent.extent { part.offset == 0 } else { isLong }
    }

    /// Whether the multipart upload of this part is complete or given up.
    package final var hasEndedMultipart: Bool { multipart?.isFinished ?? false }

    /// The size of the content with these bytes.
    ///
    /// - Throws: `sizeMismatch` if that is more than was declared.
    final func checkedSize(with bytes: UnsafeRawBufferPointer) throws(Failure) -> UInt64 {
        let (end, overflow) = size.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, end <= intent.size ?? end else {
            throw Failure(.sizeMismatch, "The upload has more than the declared \(intent.size ?? 0) bytes.")
        }
        return end
    }

    /// - Parameter end: the size of the content with the new bytes.
    /// - Throws: `uploadTooLarge`.
    final func checkLimit(_ end: UInt64) throws(Failure) {
        let limit = admission.limit
        guard end <= limit else { throw .uploadTooLarge(limit) }
    }

    /// Makes the verified upload that the pipeline publishes.
    ///
    /// - Parameter claim: the claim on its id; nil if no other connection can complete that id.
    final func verified(
        _ staged: any StagedContent, _ size: UInt64, _ digest: Digest, claim: RecentResults.Claim?
    ) throws(Failure) -> UploadEnding {
        var publication = try admission.publication(staged, size, digest)
        publication.condition = condition
        publication.command = command ?? admission.run.map { StoringCommand(id: $0, mayRepeat: true) }
        return .verified(VerifiedUpload(upload: self, publication: publication, claim: claim))
    }
}

extension DeclaredEnd {
    /// Compares size and digest of the content with what the client declared.
    ///
    /// - Parameter beginning: the size that was declared before the content.
    /// - Returns: the digest.
    /// - Throws: `sizeMismatch`, `digestMismatch`.
    func checked(_ size: UInt64, _ digest: Digest, beginning: UInt64?) throws(Failure) -> Digest {
        guard self.size ?? size == size, size == beginning ?? size else {
            let declared = (beginning == size ? nil : beginning) ?? self.size ?? size
            throw Failure(.sizeMismatch, "The upload has \(size) bytes; \(declared) were declared.")
        }
        guard digest == self.digest ?? digest else {
            throw Failure(
                .digestMismatch,
                "The content that arrived has the digest \(digest); \(self.digest ?? digest) was declared.")
        }
        return digest
    }
}

/// Size and digest of content as it arrives, compared with what the client declares.
struct ContentCheck {
    /// The session's digester, reset; used by one upload at a time.
    private let digester: ContentDigester
    private var lastBlock: (index: UInt64, digest: [UInt8])?

    init(_ digester: ContentDigester) { self.digester = digester }

    /// Counts and digests the next bytes of an upload.
    ///
    /// - Parameter blockFinished: receives the digest of each block that they fill.
    /// - Returns: the range of the bytes in the content.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, of upload: OpenUpload, blockFinished: ([UInt8]) -> Void = { _ in }
    ) throws(Failure) -> Range<UInt64> {
        let (offset, end) = (upload.size, try upload.checkedSize(with: bytes))
        try upload.checkLimit(end)
        digester.update(bytes) { index, digest in
            lastBlock = (index, digest)
            blockFinished(digest)
        }
        upload.size = end
        return offset..<end
    }

    func check(_ index: UInt64, _ digest: Digest, _ function: DigestFunction) throws(Failure) {
        guard let lastBlock, lastBlock.index == index, digest.algorithm.function == function,
            lastBlock.digest == digest.bytes
        else { throw .otherBlock(index) }
    }

    /// Compares all content with what was declared.
    ///
    /// - Returns: its digest, and the digest of a last block that is not full and follows other blocks.
    func finish(_ end: DeclaredEnd, of upload: OpenUpload) throws(Failure) -> (digest: Digest, lastBlock: [UInt8]?) {
        let (computed, last) = digester.finish()
        return (try end.checked(upload.size, computed, beginning: upload.intent.size), last?.digest)
    }
}

/// An upload whose content arrives in order over one connection.
///
/// The place for the content is made at its first byte, or for a long upload in `begin`.
///
///     unmade ─► made ─► over
final class WholeUpload: OpenUpload {
    private enum Place {
        case unmade
        case made(any StagedContent)
        /// The content is verified or discarded.
        case over
    }

    private var place = Place.unmade
    private var content: ContentCheck

    /// - Parameter digester: a reset digester.
    init(_ admission: UploadAdmission, _ digester: ContentDigester) {
        content = ContentCheck(digester)
        super.init(admission)
    }

    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) {
        if case .over = place { throw .notAdmitted }
        let range = try content.take(bytes, of: self)
        let staged = try makePlace()
        try isHole ? staged.clear(range) : staged.write(bytes, at: range.lowerBound)
    }

    /// Makes the place for the content, unless there is one.
    @discardableResult func makePlace() throws(Failure) -> any StagedContent {
        switch place {
        case .made(let staged): return staged
        case .over: throw .notAdmitted
        case .unmade:
            let staged: any StagedContent = try admission.intake.store.stage(
                id: intent.id, size: intent.size, filled: intent.filled, permissions: intent.permissions,
                quota: admission.quota)
            place = .made(staged)
            return staged
        }
    }

    override func check(_ index: UInt64, _ digest: Digest) throws(Failure) {
        try content.check(index, digest, intent.function)
    }

    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        let digest = try content.finish(end, of: self).digest
        let verified = try verified(makePlace(), size, digest, claim: admission.claim)
        place = .over
        return verified
    }

    override func discard() {
        if case .made(let staged) = place { staged.discard() }
        place = .over
    }
}

/// An upload whose id is acknowledged already and whose content is sent nevertheless. It is compared with what was
/// acknowledged, and not stored.
final class RepeatedUpload: OpenUpload {
    private var content: ContentCheck
    /// Whether the session's digester may belong to another upload by now.
    private var isOver = false

    /// - Parameter digester: a reset digester.
    init(_ admission: UploadAdmission, of multipart: MultipartUpload?, _ digester: ContentDigester) {
        content = ContentCheck(digester)
        super.init(admission, of: multipart)
    }

    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) {
        guard !isOver else { throw .notAdmitted }
        if case .multipart = intent.extent { throw .contentOfEnd }
        _ = try content.take(bytes, of: self)
    }

    override func check(_ index: UInt64, _ digest: Digest) throws(Failure) {
        try content.check(index, digest, intent.function)
    }

    /// Compares what arrived with the acknowledged upload. A repeated end of a multipart upload has no content to
    /// compare.
    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        // While the content arrived, the stored file may have been removed or replaced, or found rotten.
        guard let earlier = try admission.acknowledgement() else { throw .changedMeanwhile }
        if case .multipart = intent.extent {
            let (size, digest) = (end.size ?? earlier.size, end.digest ?? earlier.digest)
            return .over(.acknowledged(try earlier.compared(size: size, digest)))
        }
        let digest = try content.finish(end, of: self).digest
        return .over(.acknowledged(try earlier.compared(size: size, digest)))
    }

    override func discard() { isOver = true }
}

extension Failure {
    /// The upload is not in the state that its frames imply. Only a defect of this server can cause that, and the
    /// defect must not harm other uploads.
    static let notAdmitted = Failure(
        .storageFailed, "The server lost track of the upload because of a defect. Send the upload again.")

    static let contentOfEnd = Failure(
        .sizeMismatch, "The upload that completes a multipart upload must not have content.")

    fileprivate static func otherBlock(_ index: UInt64) -> Failure {
        Failure(.digestMismatch, "The digest of block \(index) is not the declared one.")
    }

    fileprivate static let changedMeanwhile = Failure(
        .busy, "The stored file was changed or removed while the upload was sent again: send it once more.")
}
