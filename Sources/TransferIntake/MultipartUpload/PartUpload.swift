import TransferCodec
import TransferModel
import TransferPorts

/// An upload that brings some blocks of a multipart upload, or a piece of one block.
///
/// The first byte claims the range, or `begin` claims it for a long part. A newer connection may take the claim; then the part learns
/// that when it writes next, or completes.
///
///     unclaimed ─► claimed ─► over
final class PartUpload: OpenUpload {
    private enum Place {
        case unclaimed(MultipartUpload)
        case claimed(PartClaim)
        /// The part counts, or its claim was withdrawn.
        case over
    }

    private let part: UploadPart
    /// The number of the connection that the part comes over.
    private let connection: Int
    private var place: Place
    private var content: ContentCheck
    /// Digests of the blocks that have come, concatenated.
    private var blockDigests: [UInt8] = []

    /// - Parameter digester: reset.
    init(
        _ admission: UploadAdmission, _ part: UploadPart, of multipart: MultipartUpload, connection: Int,
        _ digester: ContentDigester
    ) {
        (self.part, self.connection, place) = (part, connection, .unclaimed(multipart))
        content = ContentCheck(digester)
        super.init(admission, of: multipart)
    }

    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) {
        if case .over = place { throw .notAdmitted }
        let range = try content.take(bytes, of: self) { blockDigests += $0 }
        let claim = try claimRange()
        try isHole ? claim.clear(range) : claim.write(bytes, at: range.lowerBound)
    }

    /// Claims the bytes of the part, where they are not claimed.
    @discardableResult func claimRange() throws(Failure) -> PartClaim {
        switch place {
        case .claimed(let claim): return claim
        case .over: throw .notAdmitted
        case .unclaimed(let multipart):
            guard let range = part.range(size: intent.size ?? 0) else { throw .declaredOtherwise }
            try checkLength(range, of: multipart)
            let parts = try admission.intake.partStore()
            let claim = try multipart.claim(
                range, connection: connection, run: admission.run, abilities: admission.intake.store.abilities
            ) { [quota = admission.quota] () throws(Failure) in
                try parts.resume(id: part.upload, size: part.total, filled: intent.filled, quota: quota)
            }
            place = .claimed(claim)
            return claim
        }
    }

    /// A part that is shorter than the store takes can only be the last one: it ends an upload whose size is not known yet.
    private func checkLength(_ range: Range<UInt64>, of multipart: MultipartUpload) throws(Failure) {
        let least = admission.intake.store.abilities.leastPart
        guard range.upperBound - range.lowerBound < least, range.upperBound != part.total else { return }
        guard part.total == nil else { throw .shortPart(least) }
        try multipart.check(total: range.upperBound, intent.function)
    }

    override func check(_ index: UInt64, _ digest: Digest) throws(Failure) {
        try content.check(index, digest, intent.function)
    }

    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        let (digest, lastBlock) = try content.finish(end, of: self)
        if let lastBlock { blockDigests += lastBlock }
        // Less than a block: its digest is the content's.
        if blockDigests.isEmpty { blockDigests = digest.bytes }
        guard case .claimed(let claim) = place else { throw .notAdmitted }
        place = .over
        try claim.complete(digests: blockDigests)
        return .over(.staged(size: size, digest))
    }

    /// Whole blocks stay: they arrived as they were sent, as far as anybody knows.
    override func suspend() { withdraw(digests: blockDigests) }

    override func discard() { withdraw(digests: []) }

    private func withdraw(digests: [UInt8]) {
        if case .claimed(let claim) = place { claim.withdraw(digests: digests) }
        place = .over
    }
}

/// The end of a multipart upload: the content is what its parts have brought.
final class MultipartEnd: OpenUpload {
    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) { throw .contentOfEnd }

    /// Only parts that were verified here count. That the content is under its name already proves nothing of this client, who may
    /// know no more of it than its size and its digest; and to look would be to read all of it for a few bytes.
    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        guard let total = intent.size, let multipart, let (staged, computed) = try multipart.finish(total: total) else {
            throw .missingParts
        }
        do throws(Failure) {
            let digest = try end.checked(total, computed, beginning: total)
            try staged.trim(to: total)
            return try verified(staged, total, digest, claim: admission.claim)
        } catch {
            // What the disk could not do now it may do later.
            if error.code.class != .server { staged.discard() }
            admission.intake.multiparts.remove(multipart)
            throw error
        }
    }
}

extension Failure {
    fileprivate static func shortPart(_ least: UInt64) -> Failure {
        Failure(.sizeMismatch, "The server's store takes parts of \(least) bytes or more, but for the last one.")
    }
}
