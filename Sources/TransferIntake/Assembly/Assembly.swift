import Synchronization
import TransferCodec
import TransferModel
import TransferStore
import TransferSystem

/// An upload that arrives in parts, over any number of connections and in any order. Parts that are verified stay when
/// their connection goes; bytes that nobody vouches for never count.
///
/// Lock order: the assembly's before a claim's. A part is written under its claim's lock, so whoever takes a part over
/// knows that the last owner has written its last byte.
package final class Assembly: Sendable {
    private struct State {
        /// Bytes of the upload, as soon as they are known.
        var total: UInt64?
        var staged: (any StagedContent)?
        var parts = VerifiedParts()
        /// Being written: each connection has one at most.
        var claims: [PartClaim] = []
        var isFinished = false
        /// What somebody has begun to write since the file was handed out to be read; merged when there is much of it.
        var overwritten: [Range<UInt64>] = []
        /// The newest connection that worked on it, and the push that it is part of.
        var newest: (connection: Int, run: UInt64?)?

        /// Where the last byte is that somebody brought, or brings.
        var end: UInt64 { claims.reduce(parts.end) { max($0, $1.range.upperBound) } }

        /// Takes the upload to be of that size from now on.
        ///
        /// - Returns: whether it can be.
        mutating func declare(_ total: UInt64) -> Bool {
            guard self.total ?? total == total, end <= total else { return false }
            self.total = total
            return true
        }

        /// Notes that what was read of the bytes before counts no more.
        mutating func overwrite(_ range: Range<UInt64>) {
            overwritten.append(range)
            guard overwritten.count > Self.mostOverwritten, let first = overwritten.map(\.lowerBound).min(),
                let end = overwritten.map(\.upperBound).max()
            else { return }
            overwritten = [first..<end]
        }

        private static let mostOverwritten = 1024

        /// Whether the bytes can be some of the upload's.
        func contains(_ range: Range<UInt64>) -> Bool { !range.isEmpty && range.upperBound <= total ?? .max }

        mutating func note(_ connection: Int, _ run: UInt64?) {
            guard newest.map({ $0.connection <= connection }) ?? true else { return }
            newest = (connection, run)
        }

        /// Whether nobody newer, and of another push, works on it.
        func mayBeTakenBack(by connection: Int, _ run: UInt64?) -> Bool {
            guard let newest, newest.connection > connection else { return true }
            return run != nil && newest.run == run
        }

        /// Whether no newer connection has any of the bytes.
        func allows(_ range: Range<UInt64>, _ connection: Int) -> Bool {
            claims.allSatisfy { !$0.range.overlaps(range) || $0.connection <= connection }
                && parts.newestConnection(in: range).map { $0 <= connection } ?? true
        }

        /// Nobody writes any of the bytes any more.
        mutating func revoke(_ range: Range<UInt64>) {
            for claim in claims where claim.range.overlaps(range) { claim.revoke() }
            claims.removeAll { $0.range.overlaps(range) }
        }

        mutating func place(_ stage: () throws(StoreError) -> any StagedContent) throws(StoreError) -> any StagedContent
        {
            if let staged { return staged }
            let made = try stage()
            staged = made
            return made
        }

        /// - Returns: false when another has taken it over.
        mutating func release(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0 === claim }) else { return false }
            claims.remove(at: index)
            return true
        }

        /// - Returns: the file.
        mutating func finish() -> (any StagedContent)? {
            revoke(0..<UInt64.max)
            defer { self = State(isFinished: true) }
            return staged
        }
    }

    /// What there is of an upload when somebody asks.
    enum Presence {
        /// Verified while this server received it.
        case known(VerifiedParts)
        /// A file, perhaps of an earlier server; it has to be read, as far as the upload goes where that is known.
        case unread(any StagedContent, total: UInt64?)
    }

    let id: UploadID

    let function: DigestFunction

    /// When this server first heard of it; nanoseconds of the monotonic clock.
    package let started: Int64

    private let state: Locked<State>

    /// Of the state, for whoever must not wait for its lock: a disk may be at work while somebody has it.
    private let finished = Atomic(false)

    /// The same.
    private let newestRun = Locked<UInt64?>(nil)

    /// - Parameters:
    ///   - total: bytes of the upload, if they are known.
    ///   - started: nanoseconds of the monotonic clock.
    init(id: UploadID, total: UInt64?, function: DigestFunction, started: Int64) {
        self.id = id
        self.function = function
        self.started = started
        state = Locked(State(total: total))
    }

    /// - Throws: `contentMismatch` when the upload was declared differently before, or has more already.
    func check(total: UInt64?, _ function: DigestFunction) throws(StoreError) {
        let isSame = state.withLock { state in
            guard let total, !state.isFinished else { return true }
            return state.declare(total)
        }
        guard isSame, self.function == function else { throw .declaredOtherwise }
    }

    private func note(_ connection: Int, _ run: UInt64?, in state: inout State) {
        state.note(connection, run)
        newestRun.withLock { $0 = state.newest?.run }
    }

    /// Whether its content is complete or was given up; nothing can be added any more.
    package var isFinished: Bool { finished.load(ordering: .acquiring) }

    /// The push that its newest connection is part of. Loops ask for it.
    var run: UInt64? { newestRun.withLock { $0 } }

    /// Whether it holds nothing worth keeping in memory.
    var isEmpty: Bool { state.withLock { $0.parts.isEmpty && $0.claims.isEmpty } }

    /// Bytes that are there and verified.
    package var verified: UInt64 { state.withLock { $0.parts.size } }

    /// Takes the whole upload over from all older connections: whoever comes later knows that they are lost, however long
    /// they still seem to live here.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - run: the push that it is part of.
    ///   - stage: opens the file, where it is not open.
    /// - Returns: what there is of it.
    /// - Throws: `incomplete` when a newer connection works on it; `busy` when it is being completed; what `stage` throws.
    func takeOver(
        connection: Int, run: UInt64?, stage: () throws(StoreError) -> any StagedContent
    ) throws(StoreError) -> Presence {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isFinished else { throw .beingCompleted }
            guard state.claims.allSatisfy({ $0.connection <= connection }) else { throw .takenOver }
            note(connection, run, in: &state)
            state.revoke(0..<UInt64.max)
            guard state.staged == nil else { return .known(state.parts) }
            state.overwritten = []
            return .unread(try state.place(stage), total: state.total)
        }
    }

    /// Keeps blocks that were found in the file. Where somebody has begun to write since it was handed out, they don't
    /// count, also if he has ended by now; nor behind an end that was declared meanwhile.
    func add(_ blocks: [SurveyedBlock]) {
        state.withLock { state in
            for block in blocks {
                guard state.contains(block.range), !state.overwritten.contains(where: { $0.overlaps(block.range) })
                else { continue }
                state.parts.insertIfFree(
                    .init(range: block.range, connection: VerifiedParts.Part.found, digests: block.digest))
            }
        }
    }

    /// The right to write some of the bytes. Older connections lose it, and what they wrote of them no longer counts.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - run: the push that it is part of.
    ///   - stage: opens the file, for the first claim.
    /// - Throws: `contentMismatch` when some of the bytes are behind the upload's end; `incomplete` when a newer connection
    ///   has any of them; `busy` when the upload is being completed; what `stage` throws.
    func claim(
        _ range: Range<UInt64>, connection: Int, run: UInt64?, stage: () throws(StoreError) -> any StagedContent
    ) throws(StoreError) -> PartClaim {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isFinished else { throw .beingCompleted }
            guard state.contains(range) else { throw .declaredOtherwise }
            guard state.allows(range, connection) else { throw .takenOver }
            let staged = try state.place(stage)
            note(connection, run, in: &state)
            state.revoke(range)
            state.parts.remove(in: range)
            state.overwrite(range)
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
        let wasHeld = state.withLock { state in
            let wasHeld = state.release(claim)
            if wasHeld {
                state.parts.insert(.init(range: claim.range, connection: claim.connection, digests: digests))
            }
            return wasHeld
        }
        guard wasHeld else { throw .takenOver }
    }

    /// No more of the claim will be written.
    ///
    /// - Parameter digests: of the whole blocks at its front that were, one after the other.
    func withdraw(_ claim: PartClaim, digests: [UInt8]) {
        let size = UInt64(digests.count / function.size) * UInt64(Limits.blockSize)
        state.withLock { state in
            guard state.release(claim), size > 0 else { return }
            // What was written may end within a block, but digests are there of whole ones only.
            let range = claim.range.prefix(size)
            state.parts.insert(.init(range: range, connection: claim.connection, digests: digests))
        }
    }

    /// Ends the assembly and hands out what it holds.
    ///
    /// - Parameter total: bytes of the upload.
    /// - Returns: the file, which may have more bytes, and the digest of those; nothing when bytes are missing, and then it
    ///   goes on.
    /// - Throws: `busy` when it is being completed.
    func finish(total: UInt64) throws(StoreError) -> (staged: any StagedContent, digest: Digest)? {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isFinished else { throw .beingCompleted }
            guard let digests = state.parts.digests(total: total), let staged = state.staged else { return nil }
            _ = close(&state)
            return (staged, BlockTree.root(digests, function))
        }
    }

    /// Ends the assembly and throws away what there is of the upload, at the wish of its client.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - run: the push that it is part of.
    ///   - remove: throws the file away, where it is not open.
    /// - Throws: `incomplete` when a newer connection of another push works on it; `busy` when it is being completed; what
    ///   `remove` throws.
    func takeBack(
        connection: Int, run: UInt64?, remove: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isFinished else { throw .beingCompleted }
            guard state.mayBeTakenBack(by: connection, run) else { throw .takenOver }
            // Before the lock is given up, so that nobody finds what is about to go.
            if let staged = close(&state) { staged.discard() } else { try remove() }
        }
    }

    /// Ends the assembly, and asks nothing of the disk.
    ///
    /// - Returns: how many bytes were there and verified, and the file, the caller's from now on; nothing when somebody
    ///   else has ended it, who has the file.
    func end() -> (verified: UInt64, file: (any StagedContent)?)? {
        state.withLock { state in state.isFinished ? nil : (state.parts.size, close(&state)) }
    }

    /// With the lock held.
    private func close(_ state: inout State) -> (any StagedContent)? {
        finished.store(true, ordering: .releasing)
        return state.finish()
    }
}

extension Range<UInt64> {
    /// So many of the bytes, or all of them.
    fileprivate func prefix(_ count: UInt64) -> Range<UInt64> {
        upperBound - lowerBound > count ? lowerBound..<lowerBound + count : self
    }
}

extension StoreError {
    /// To whoever ends an upload that isn't all there.
    static let missingParts = StoreError(.incomplete, "Parts of the upload are missing; ask what there is of it.")

    static let declaredOtherwise = StoreError(
        .contentMismatch, "The upload was declared with another size or digest function before.")

    static let tooManyAssemblies = StoreError(.busy, "The server works on as many uploads in parts as it can.")

    static let tooManyOfOne = StoreError(
        .busy, "This client works on as many uploads in parts as one may have: others need the rest.")

    static let takenOver = StoreError(.incomplete, "A newer connection has taken over the upload.")

    static let beingCompleted = StoreError(.busy, "The upload is just being completed.")
}
