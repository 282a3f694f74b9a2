import TransferCodec
package import TransferModel
import TransferStore

/// An append upload, as one request brings it.
extension OpenUpload {
    /// Bytes after which what has come is made durable, while more comes: so much is lost at most when the server is killed.
    private static let keptEvery: UInt64 = 64 << 20

    /// The same in nanoseconds, for those that come slowly.
    private static let keptAfter: Int64 = 10_000_000_000

    /// What it appends to an upload; nothing for any other one.
    var appending: UploadAppend? {
        if case .append(let append) = intent.extent { append } else { nil }
    }

    /// Bytes of an upload of which all is there, so that this request only ends it; nothing for any other one.
    var sizeOfAll: UInt64? {
        guard let append = appending, !append.isNew, append.total == append.offset else { return nil }
        return append.total
    }

    /// Takes the right to append, or begins the upload.
    ///
    /// - Throws: `notFound`; `incomplete` when there is more or less of it than its sender thinks.
    func openEnd() throws(Failure) {
        guard let append = appending, let multipart else { return }
        defer { if multipart.isDiscarded { intake.multiparts.remove(multipart) } }
        let found = try multipart.claimEnd(request: intake.nextRequest(), now: intake.clock.monotonic()) {
            () throws(Failure) in
            guard append.isNew else {
                return try intake.appendable(intent.id, for: caller)
            }
            let declaration = AppendDeclaration(statedIntent, append, begun: intake.clock.utc())
            return try intake.store.makeAppendable(
                id: intent.id, size: append.total, declaration: declaration.bytes,
                quota: intake.quotas.quota(for: caller.grant))
        }
        guard let (claim, appendUpload) = found else { throw .noSuchUpload }
        target = .append(claim)
        self.appendUpload = appendUpload
        try claim.use { (appendUpload) throws(Failure) in
            guard appendUpload.mark.offset == append.offset else { throw .otherOffset(appendUpload.mark.offset) }
            if let total = append.total { try appendUpload.declare(total: total) }
            appendUpload.isUnproven = append.isUnproven
        }
    }

    /// The address of the upload was told: whoever loses this connection can go on.
    package func announce() { isAnnounced = true }

    /// Bytes of the upload that are durable.
    package var kept: UInt64 { appendUpload?.content.kept.offset ?? 0 }

    func appendToEnd(_ bytes: UnsafeRawBufferPointer, _ claim: AppendClaim) throws(Failure) {
        let now = intake.clock.monotonic()
        try claim.use { (appendUpload) throws(Failure) in
            let end = appendUpload.mark.offset.addingClamped(UInt64(bytes.count))
            guard end <= appendUpload.mark.total ?? end else {
                throw Failure(
                    .sizeMismatch, "More than the declared \(appendUpload.mark.total ?? 0) bytes arrived.")
            }
            guard end <= limit else { throw tooLarge }
            try appendUpload.append(bytes)
            guard !appendUpload.isUnproven else { return }
            if appendUpload.unkept >= Self.keptEvery || now - appendUpload.lastKept >= Self.keptAfter {
                try appendUpload.keep(now: now)
            }
        }
        size = size.addingClamped(UInt64(bytes.count))
    }

    /// The digest of all that there is, by another function than the server's own. All of it is read for that, once: whoever
    /// says again that it is another one costs no more.
    package func digest(by function: DigestFunction) throws(Failure) -> [UInt8] {
        let hasher = BlockHasher(function)
        guard case .append(let claim) = target else { return hasher.finish() }
        return try claim.use { (appendUpload) throws(Failure) in
            let end = appendUpload.mark.offset
            if let known = appendUpload.digested, known.function == function, known.offset == end {
                return known.digest
            }
            try appendUpload.content.read(0..<end) { (bytes) in hasher.update(bytes) }
            let digest = hasher.finish()
            appendUpload.digested = (function, end, digest)
            return digest
        }
    }

    /// All that this request brings has come.
    func finishAppend(_ append: UploadAppend, _ end: DeclaredEnd) throws(Failure) -> Finish {
        guard case .append(let claim) = target, let multipart else { throw .notAdmitted }
        guard intent.size ?? size == size else {
            throw Failure(.sizeMismatch, "\(size) bytes arrived; \(intent.size ?? 0) were declared.")
        }
        let now = intake.clock.monotonic()
        let (mark, isLast) = try claim.use { (appendUpload) throws(Failure) in
            if append.ending == .here { try appendUpload.declare(total: appendUpload.mark.offset) }
            let isLast = append.ending != .never && appendUpload.mark.total == appendUpload.mark.offset
            appendUpload.isUnproven = false
            // What nobody was told of needs no sync of its own before it is published.
            let isTold = isAnnounced || appendUpload.content.kept.offset > 0
            if !isLast || isTold { try appendUpload.keep(now: now) } else if !append.isNew { appendUpload.note() }
            return (appendUpload.mark, isLast)
        }
        guard isLast else {
            target = .none
            claim.withdraw()
            return .ended(.kept(offset: mark.offset))
        }
        let (staged, computed) = try claim.finish()
        target = .none
        do throws(Failure) {
            let digest = try checked(end, total: mark.offset, digest: computed)
            try staged.trim(to: mark.offset)
            guard let publication = publication(staged, mark.offset, digest) else { throw .notAdmitted }
            return .publish(publication)
        } catch {
            if error.code.class != .server { appendUpload?.content.discard() }
            intake.multiparts.remove(multipart)
            throw error
        }
    }

    /// - Returns: the digest.
    private func checked(_ end: DeclaredEnd, total: UInt64, digest: Digest) throws(Failure) -> Digest {
        guard end.size ?? total == total else {
            throw Failure(.sizeMismatch, "\(total) bytes arrived; \(end.size ?? 0) were declared.")
        }
        guard end.digest ?? digest == digest else {
            throw Failure(.digestMismatch, "The content arrived with the digest \(digest).")
        }
        return digest
    }

    /// No more comes with this request.
    ///
    /// - Parameter keeps: whether what has come counts.
    func leaveEnd(_ claim: AppendClaim, keeps: Bool) {
        let now = intake.clock.monotonic()
        let isUseless = appending?.isNew ?? false && !isAnnounced
        let isLost =
            (try? claim.use { (appendUpload) throws(Failure) in
                if !keeps { appendUpload.isUnproven = true }
                if !isUseless, !appendUpload.isUnproven, appendUpload.unkept > 0 { try appendUpload.keep(now: now) }
                return appendUpload.isLost
            }) ?? appendUpload?.isLost ?? false
        claim.withdraw()
        guard isLost || isUseless, let multipart, let appendUpload else { return }
        // Nobody knows where it is, or what.
        multipart.discard(appendUpload)
        intake.multiparts.remove(multipart)
    }
}

extension Failure {
    static let noSuchUpload = Failure(
        .notFound, "There is no such upload: it is complete, was taken back, or has expired.")

    static func otherOffset(_ offset: UInt64) -> Failure {
        Failure(.incomplete, "The upload has \(offset) bytes: go on there.")
    }
}
