import TransferCodec
import TransferProtocol
import TransferStore
import TransferSystem

/// An upload that arrives in parts, over any number of connections and in any order. Parts that are verified stay when
/// their connection goes; bytes that nobody vouches for never count.
///
/// Lock order: the assembly's before a claim's. A part is written under its claim's lock, so whoever takes a part over
/// knows that the last owner has written its last byte.
final class Assembly: Sendable {
    private struct State {
        var staged: StagedFile?
        var parts = VerifiedParts()
        /// Being written: each connection has one at most.
        var claims: [PartClaim] = []
        var isFinished = false

        /// Whether no newer connection has any of the bytes.
        func allows(_ range: Range<UInt64>, _ connection: Int) -> Bool {
            claims.allSatisfy { !$0.range.overlaps(range) || $0.connection <= connection }
                && parts.newestConnection(in: range).map { $0 <= connection } ?? true
        }

        /// Nobody has any of the bytes any more.
        mutating func clear(_ range: Range<UInt64>) {
            for claim in claims where claim.range.overlaps(range) { claim.revoke() }
            claims.removeAll { $0.range.overlaps(range) }
            parts.remove(in: range)
        }

        /// - Returns: the file.
        mutating func finish() -> StagedFile? {
            for claim in claims { claim.revoke() }
            defer { self = State(isFinished: true) }
            return staged
        }
    }

    let id: UploadID

    /// Bytes of the upload.
    let total: UInt64

    let function: DigestFunction

    private let state = Locked(State())

    init(id: UploadID, total: UInt64, function: DigestFunction) {
        self.id = id
        self.total = total
        self.function = function
    }

    /// - Throws: `contentMismatch` when a part is declared as of another upload than its fellows.
    func check(_ part: Begin.Part, _ function: DigestFunction) throws(StoreError) {
        guard total == part.total, self.function == function else {
            throw StoreError(.contentMismatch, "A part of the upload declared another size or digest function.")
        }
    }

    /// Whether it was published or given up; nothing can be added any more.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Whether it holds nothing worth keeping.
    var isEmpty: Bool { state.withLock { $0.parts.isEmpty && $0.claims.isEmpty } }

    /// The right to write some of the bytes. Older connections lose it, and what they wrote of them no longer counts: who
    /// comes later knows that they are lost, however long they still seem to live here.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - stage: makes the file, for the first claim.
    /// - Throws: `incomplete` when a newer connection has any of the bytes or the assembly is over; what `stage` throws.
    func claim(
        _ range: Range<UInt64>, connection: Int, stage: () throws(StoreError) -> StagedFile
    ) throws(StoreError) -> PartClaim {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isFinished else { throw .missingParts }
            guard state.allows(range, connection) else { throw .takenOver }
            let staged = if let staged = state.staged { staged } else { try stage() }
            state.staged = staged
            state.clear(range)
            let claim = PartClaim(range, connection: connection, of: self, in: staged)
            state.claims.append(claim)
            return claim
        }
    }

    /// All bytes of the claim are written and verified.
    ///
    /// - Parameter digests: of its blocks, one after the other.
    /// - Throws: `incomplete` when another has taken it over.
    func complete(_ claim: PartClaim, digests: [UInt8]) throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in
            guard let index = state.claims.firstIndex(where: { $0 === claim }) else { throw .takenOver }
            state.claims.remove(at: index)
            state.parts.insert(.init(range: claim.range, connection: claim.connection, digests: digests))
        }
    }

    /// The claim's bytes don't count.
    func withdraw(_ claim: PartClaim) {
        state.withLock { state in state.claims.removeAll { $0 === claim } }
    }

    /// Ends the assembly and hands out what it holds.
    ///
    /// - Returns: the file and the digest of all its bytes.
    /// - Throws: `incomplete` when bytes are missing; what is there is thrown away then.
    func finish() throws(StoreError) -> (staged: StagedFile, digest: Digest) {
        try state.withLock { (state) throws(StoreError) in
            let digest = state.parts.digests(total: total).map { BlockTree.root($0, function) }
            let staged = state.finish()
            guard let staged, let digest else {
                staged?.discard()
                throw .missingParts
            }
            return (staged, digest)
        }
    }

    /// Ends the assembly and throws away what it holds.
    func giveUp() {
        state.withLock { $0.finish()?.discard() }
    }
}

/// The right to write some bytes of an assembly.
final class PartClaim: Sendable {
    /// Bytes of the upload.
    let range: Range<UInt64>

    /// The number of the connection that has it.
    let connection: Int

    private let assembly: Assembly
    /// Nothing once the claim is taken over.
    private let staged: Locked<StagedFile?>

    fileprivate init(_ range: Range<UInt64>, connection: Int, of assembly: Assembly, in staged: StagedFile) {
        self.range = range
        self.connection = connection
        self.assembly = assembly
        self.staged = Locked(staged)
    }

    /// - Parameter offset: in the part; the bytes must lie in it.
    /// - Throws: `incomplete` when another has taken it over, and what writing throws.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
        try staged.withLock { (staged) throws(StoreError) in
            guard let staged else { throw .takenOver }
            try staged.write(bytes, at: range.lowerBound + offset)
        }
    }

    /// All of it is written and verified.
    ///
    /// - Parameter digests: of its blocks, one after the other.
    /// - Throws: `incomplete` when another has taken it over.
    func complete(digests: [UInt8]) throws(StoreError) {
        try assembly.complete(self, digests: digests)
    }

    /// What was written doesn't count.
    func withdraw() {
        assembly.withdraw(self)
    }

    fileprivate func revoke() {
        staged.withLock { $0 = nil }
    }
}

extension StoreError {
    /// To whoever ends an upload that isn't all there.
    static let missingParts = StoreError(.incomplete, "Parts of the upload are missing; all of it must be sent again.")

    fileprivate static let takenOver = StoreError(.incomplete, "A newer connection has taken over the part.")
}
