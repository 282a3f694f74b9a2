import TransferCodec
import TransferModel
import TransferPorts

/// What one request adds to an append upload.
///
/// A request holds the claim on the end of the upload from `begin` on, until a newer request takes the claim. The bytes
/// that it adds are made durable (kept) while they arrive and when the request ends. The last request ends the upload.
///
///     claimed ─► over
final class AppendRequest: OpenUpload {
    /// Bytes of new content after which it is made durable; about as many can be lost if the server is killed.
    private static let keptEvery: UInt64 = 64 << 20

    /// Nanoseconds after which new content is made durable even if it has fewer bytes, for slow requests.
    private static let keptAfter: Int64 = 10_000_000_000

    private let declared: UploadAppend
    private let claim: AppendClaim
    /// Whether the client knows how to resume the upload over another connection.
    private var isAnnounced = false
    /// Whether the request has no claim any more.
    private var isOver = false

    /// Begins the upload with this request, or claims the end of an upload that has begun.
    ///
    /// - Throws: `notFound`; `incomplete` if the server has more or fewer bytes than the client declares.
    static func begin(
        _ admission: UploadAdmission, _ append: UploadAppend, to multipart: MultipartUpload
    ) throws(Failure) -> AppendRequest {
        let (intake, id, clock) = (admission.intake, admission.intent.id, admission.intake.clock)
        defer { if multipart.isDiscarded { intake.multiparts.remove(multipart) } }
        let claim = try multipart.claimEnd(request: intake.nextRequest(), now: clock.monotonic()) {
            () throws(Failure) in
            guard append.isNew else { return try intake.appendable(id, for: admission.caller) }
            var stated = admission.intent
            stated.path = admission.clientPath
            let declaration = AppendDeclaration(stated, append, begun: clock.utc())
            return try intake.appendStore().makeAppendable(
                id: id, size: append.total, function: stated.function, declaration: declaration.bytes,
                quota: admission.quota)
        }
        guard let claim else { throw .noSuchUpload }
        let request = AppendRequest(admission, append, claim)
        do throws(Failure) {
            try request.compareOffset()
        } catch {
            request.discard()
            throw error
        }
        return request
    }

    private init(_ admission: UploadAdmission, _ append: UploadAppend, _ claim: AppendClaim) {
        (declared, self.claim) = (append, claim)
        super.init(admission, of: claim.multipart)
    }

    private func compareOffset() throws(Failure) {
        try claim.use { (appendUpload) throws(Failure) in
            guard appendUpload.mark.offset == declared.offset else { throw .otherOffset(appendUpload.mark.offset) }
            if let total = declared.total { try appendUpload.declare(total: total) }
            appendUpload.isUnproven = declared.isUnproven
        }
    }

    /// Notes that the client has received the address of the upload, so that it can resume.
    override func announce() { isAnnounced = true }

    override var kept: UInt64 { claim.appendUpload.content.kept.offset }

    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) {
        guard !isOver else { throw .notAdmitted }
        let requestEnd = try checkedSize(with: bytes)
        let now = admission.intake.clock.monotonic()
        try claim.use { (appendUpload) throws(Failure) in
            let end = appendUpload.mark.offset.addingClamped(UInt64(bytes.count))
            guard end <= appendUpload.mark.total ?? end else {
                throw Failure(
                    .sizeMismatch, "The upload has more than the declared \(appendUpload.mark.total ?? 0) bytes.")
            }
            try checkLimit(end)
            try appendUpload.append(bytes)
            guard !appendUpload.isUnproven else { return }
            if appendUpload.unkept >= Self.keptEvery || now - appendUpload.lastKept >= Self.keptAfter {
                try appendUpload.keep(now: now)
            }
        }
        size = requestEnd
    }

    /// Reads the whole content once and remembers its digest, so that a client that repeats a wrong digest causes no
    /// further reading.
    override func digest(by function: DigestFunction) throws(Failure) -> [UInt8] {
        guard !isOver else { throw .notAdmitted }
        return try claim.use { (appendUpload) throws(Failure) in
            let end = appendUpload.mark.offset
            if let known = appendUpload.digested, known.function == function, known.offset == end {
                return known.digest
            }
            let hasher = BlockHasher(function)
            try appendUpload.content.read(0..<end) { (bytes) in hasher.update(bytes) }
            let digest = hasher.finish()
            appendUpload.digested = (function, end, digest)
            return digest
        }
    }

    /// Ends the content of this request.
    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        guard !isOver else { throw .notAdmitted }
        guard intent.size ?? size == size else {
            throw Failure(.sizeMismatch, "The request has \(size) bytes of content; \(intent.size ?? 0) were declared.")
        }
        let (offset, isLast) = try keepAll()
        guard isLast else {
            isOver = true
            claim.withdraw()
            return .over(.kept(offset: offset))
        }
        let (staged, computed) = try claim.finish()
        isOver = true
        do throws(Failure) {
            let digest = try end.checked(offset, computed, beginning: nil)
            try staged.trim(to: offset)
            // A claim on the id is not needed, because no other connection can complete an upload with this id.
            return try verified(staged, offset, digest, claim: nil)
        } catch {
            if error.code.class != .server { claim.appendUpload.content.discard() }
            admission.intake.multiparts.remove(claim.multipart)
            throw error
        }
    }

    /// Makes the content durable, unless the upload ends here and no client knows its address.
    ///
    /// - Returns: the size of the upload so far, and whether it is complete.
    private func keepAll() throws(Failure) -> (offset: UInt64, isLast: Bool) {
        let now = admission.intake.clock.monotonic()
        return try claim.use { (appendUpload) throws(Failure) in
            if declared.ending == .here { try appendUpload.declare(total: appendUpload.mark.offset) }
            let isLast = declared.ending != .never && appendUpload.mark.total == appendUpload.mark.offset
            appendUpload.isUnproven = false
            // An upload whose address no client knows needs no separate sync before it is published.
            let isTold = isAnnounced || appendUpload.content.kept.offset > 0
            if !isLast || isTold { try appendUpload.keep(now: now) } else if !declared.isNew { appendUpload.note() }
            return (appendUpload.mark.offset, isLast)
        }
    }

    override func suspend() { leave(keeps: true) }

    override func discard() { leave(keeps: false) }

    /// Ends the request before its content is complete.
    ///
    /// - Parameter keeps: whether the content that has arrived counts.
    private func leave(keeps: Bool) {
        guard !isOver else { return }
        isOver = true
        let now = admission.intake.clock.monotonic()
        let appendUpload = claim.appendUpload
        let isUseless = declared.isNew && !isAnnounced
        let isLost =
            (try? claim.use { (appendUpload) throws(Failure) in
                if !keeps { appendUpload.isUnproven = true }
                if !isUseless, !appendUpload.isUnproven, appendUpload.unkept > 0 { try appendUpload.keep(now: now) }
                return appendUpload.isLost
            }) ?? appendUpload.isLost
        claim.withdraw()
        guard isLost || isUseless else { return }
        // Discards an upload whose address no client knows, or whose content is uncertain after a failed sync.
        claim.multipart.discard(appendUpload)
        admission.intake.multiparts.remove(claim.multipart)
    }

    override func forgetUnfinished() {
        claim.appendUpload.content.forgetIfGone()
        super.forgetUnfinished()
    }
}

extension Failure {
    fileprivate static let noSuchUpload = Failure(
        .notFound, "There is no such upload: it is complete, was cancelled, or has expired.")

    fileprivate static func otherOffset(_ offset: UInt64) -> Failure {
        Failure(.incomplete, "The upload has \(offset) bytes: continue at that offset.")
    }
}
