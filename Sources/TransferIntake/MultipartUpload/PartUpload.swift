import TransferCodec
import TransferModel
import TransferPorts

/// An upload that brings some blocks of a multipart upload, or a piece of one block.
///
/// The range is claimed at the first byte, or for a long part in `begin`. A newer connection may take the claim; the
/// part learns that at its next write, or when it completes.
///
///     unclaimed ─► claimed ─► over
final class PartUpload: OpenUpload {
    private enum Place {
        case unclaimed(MultipartUpload)
        case claimed(PartClaim)
        /// The part counts, or its claim was given up.
        case over
    }

    private let part: UploadPart
    /// The number of the connection that the part comes over.
    private let connection: Int
    private var place: Place
    private var content: ContentCheck
    /// Digests of the blocks that have arrived, concatenated.
    private var blockDigests: [UInt8] = []

    /// - Parameter digester: a reset digester.
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

    /// Claims the bytes of the part, unless they are claimed.
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

    /// A part that is shorter than the store allows can only be the last one, so it determines the size of an upload
    /// for which none is declared.
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
        // The part is shorter than a block, so the digest of the content is that of the block.
        if blockDigests.isEmpty { blockDigests = digest.bytes }
        guard case .claimed(let claim) = place else { throw .notAdmitted }
        place = .over
        try claim.complete(digests: blockDigests)
        return .over(.staged(size: size, digest))
    }

    /// Keeps whole blocks, because there is no sign that they arrived damaged.
    override func suspend() { withdraw(digests: blockDigests) }

    override func discard() { withdraw(digests: []) }

    private func withdraw(digests: [UInt8]) {
        if case .claimed(let claim) = place { claim.withdraw(digests: digests) }
        place = .over
    }
}

/// The end of a multipart upload; its content is what the parts brought.
final class MultipartEnd: OpenUpload {
    override func store(_ bytes: UnsafeRawBufferPointer, isHole: Bool) throws(Failure) { throw .contentOfEnd }

    /// Only parts that were verified on arrival count. That the content is stored under the path proves nothing about
    /// this client, which may only know its size and digest; and comparing it would mean reading all of it for a
    /// request of a few bytes.
    override func finish(_ end: DeclaredEnd) throws(Failure) -> UploadEnding {
        guard let total = intent.size, let multipart, let (staged, computed) = try multipart.finish(total: total) else {
            throw .missingParts
        }
        do throws(Failure) {
            let digest = try end.checked(total, computed, beginning: total)
            try staged.trim(to: total)
            return try verified(staged, total, digest, claim: admission.claim)
        } catch {
            // After an error of the disk, the client may try again.
            if error.code.class != .server {
                staged.discard()
                admission.intake.store.parts?.forgetPublished(intent.id)
            }
            admission.intake.multiparts.remove(multipart)
            throw error
        }
    }

    override func forgetUnfinished() {
        admission.intake.store.parts?.forgetPublished(intent.id)
        super.forgetUnfinished()
    }
}

extension Failure {
    fileprivate static func shortPart(_ least: UInt64) -> Failure {
        Failure(.sizeMismatch, "The server's store requires parts of at least \(least) bytes, except the last one.")
    }
}
