import TransferCodec
package import TransferModel
package import TransferStore

/// An upload that grows at its end, as one request brings it.
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
    func openEnd() throws(StoreError) {
        guard let append = appending, let assembly else { return }
        defer { if assembly.isDiscarded { intake.assemblies.remove(assembly) } }
        let found = try assembly.claimEnd(request: intake.nextRequest(), now: intake.clock.monotonic()) {
            () throws(StoreError) in
            guard append.isNew else {
                return try intake.growing(intent.id, for: caller)
            }
            let declaration = GrowthDeclaration(statedIntent, append, begun: intake.clock.utc())
            return try intake.store.grow(
                id: intent.id, size: append.total, declaration: declaration.bytes,
                quota: intake.quotas.quota(for: caller.grant))
        }
        guard let (claim, growth) = found else { throw .noSuchUpload }
        target = .growth(claim)
        self.growth = growth
        try claim.use { (growth) throws(StoreError) in
            guard growth.mark.offset == append.offset else { throw .otherOffset(growth.mark.offset) }
            if let total = append.total { try growth.declare(total: total) }
            growth.isUnproven = append.isUnproven
        }
    }

    /// The address of the upload was told: whoever loses this connection can go on.
    package func announce() { isAnnounced = true }

    /// Bytes of the upload that are durable.
    package var kept: UInt64 { growth?.content.kept.offset ?? 0 }

    func appendToEnd(_ bytes: UnsafeRawBufferPointer, _ claim: GrowthClaim) throws(StoreError) {
        let now = intake.clock.monotonic()
        try claim.use { (growth) throws(StoreError) in
            let end = growth.mark.offset.addingClamped(UInt64(bytes.count))
            guard end <= growth.mark.total ?? end else {
                throw StoreError(
                    .sizeMismatch, "More than the declared \(growth.mark.total ?? 0) bytes arrived.")
            }
            guard end <= limit else { throw tooLarge }
            try growth.append(bytes)
            guard !growth.isUnproven else { return }
            if growth.unkept >= Self.keptEvery || now - growth.lastKept >= Self.keptAfter { try growth.keep(now: now) }
        }
        size = size.addingClamped(UInt64(bytes.count))
    }

    /// The digest of all that there is, by another function than the server's own. All of it is read for that, once: whoever
    /// says again that it is another one costs no more.
    package func digest(by function: DigestFunction) throws(StoreError) -> [UInt8] {
        let hasher = BlockHasher(function)
        guard case .growth(let claim) = target else { return hasher.finish() }
        return try claim.use { (growth) throws(StoreError) in
            let end = growth.mark.offset
            if let known = growth.digested, known.function == function, known.offset == end { return known.digest }
            try growth.content.read(0..<end) { (bytes) in hasher.update(bytes) }
            let digest = hasher.finish()
            growth.digested = (function, end, digest)
            return digest
        }
    }

    /// All that this request brings has come.
    func sealEnd(_ append: UploadAppend, _ end: DeclaredEnd) throws(StoreError) -> Seal {
        guard case .growth(let claim) = target, let assembly else { throw .notAdmitted }
        guard intent.size ?? size == size else {
            throw StoreError(.sizeMismatch, "\(size) bytes arrived; \(intent.size ?? 0) were declared.")
        }
        let now = intake.clock.monotonic()
        let (mark, isLast) = try claim.use { (growth) throws(StoreError) in
            if append.ending == .here { try growth.declare(total: growth.mark.offset) }
            let isLast = append.ending != .never && growth.mark.total == growth.mark.offset
            growth.isUnproven = false
            // What nobody was told of needs no sync of its own before it is published.
            let isTold = isAnnounced || growth.content.kept.offset > 0
            if !isLast || isTold { try growth.keep(now: now) } else if !append.isNew { growth.note() }
            return (growth.mark, isLast)
        }
        guard isLast else {
            target = .none
            claim.withdraw()
            return .ended(.kept(offset: mark.offset))
        }
        let (staged, computed) = try claim.finish()
        target = .none
        do throws(StoreError) {
            let digest = try checked(end, total: mark.offset, digest: computed)
            try staged.trim(to: mark.offset)
            guard let publication = publication(staged, mark.offset, digest) else { throw .notAdmitted }
            return .publish(publication)
        } catch {
            if error.code.class != .server { growth?.content.discard() }
            intake.assemblies.remove(assembly)
            throw error
        }
    }

    /// - Returns: the digest.
    private func checked(_ end: DeclaredEnd, total: UInt64, digest: Digest) throws(StoreError) -> Digest {
        guard end.size ?? total == total else {
            throw StoreError(.sizeMismatch, "\(total) bytes arrived; \(end.size ?? 0) were declared.")
        }
        guard end.digest ?? digest == digest else {
            throw StoreError(.digestMismatch, "The content arrived with the digest \(digest).")
        }
        return digest
    }

    /// No more comes with this request.
    ///
    /// - Parameter keeps: whether what has come counts.
    func leaveEnd(_ claim: GrowthClaim, keeps: Bool) {
        let now = intake.clock.monotonic()
        let isUseless = appending?.isNew ?? false && !isAnnounced
        let isLost =
            (try? claim.use { (growth) throws(StoreError) in
                if !keeps { growth.isUnproven = true }
                if !isUseless, !growth.isUnproven, growth.unkept > 0 { try growth.keep(now: now) }
                return growth.isLost
            }) ?? growth?.isLost ?? false
        claim.withdraw()
        guard isLost || isUseless, let assembly, let growth else { return }
        // Nobody knows where it is, or what.
        assembly.discard(growth)
        intake.assemblies.remove(assembly)
    }
}

extension StoreError {
    static let noSuchUpload = StoreError(
        .notFound, "There is no such upload: it is complete, was taken back, or has expired.")

    static func otherOffset(_ offset: UInt64) -> StoreError {
        StoreError(.incomplete, "The upload has \(offset) bytes: go on there.")
    }
}
