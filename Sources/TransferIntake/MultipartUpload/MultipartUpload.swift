import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// An upload that arrives in parts, over any number of connections and in any order. Parts that are verified stay when their connection
/// goes; bytes that were not verified never count. An append upload is one as well: its requests come one after the other, each as a
/// claim on all bytes behind those that are there (`claimEnd`).
///
/// ```
///   enter (MultipartUploads) ──► takeOver: what is there ──► claim ──► write ──► complete ──► … ──► finish: content and digest
///                                                              │ another connection claims the same bytes
///                                                              └──► the older claim is revoked, and its bytes do not count
///   takeBack, end ──► nothing can be added any more
/// ```
///
/// Its lock is held for a moment only, never while a disk is at work. A thread that needs what another one is doing, opening the
/// content or writing the last bytes of a part that was taken over, waits for that thread alone. So event loops may ask.
package final class MultipartUpload: Sendable {
    /// Where its content is.
    enum Place {
        case none
        /// A thread is about to open it.
        case opening
        case open(any StagedContent)

        var content: (any StagedContent)? {
            if case .open(let content) = self { content } else { nil }
        }
    }

    /// A claim, and whether a thread is writing for it.
    struct Held {
        let claim: PartClaim
        var isWriting = false
    }

    struct State {
        /// Bytes of the upload, as soon as they are known.
        var total: UInt64?
        var place = Place.none
        var parts = VerifiedParts()
        /// Bytes of them that were sent, and not as holes; all where an earlier server has left some.
        var brought: UInt64 = 0
        /// What is appended to; nil for an upload in parts.
        var appendUpload: AppendUpload?
        /// Being written: each connection has one at most.
        var claims: [Held] = []
        /// Claims that were taken over while a thread wrote for them, which it still does.
        var leaving: [PartClaim] = []
        /// Blocks that came in pieces and are being digested.
        var readings: [BlockReading] = []
        /// Blocks that were digested, or were to be, when they were complete for the first time, by where they begin.
        var readBlocks: Set<UInt64> = []
        var isFinished = false
        /// Whether it was thrown away, so that its place is free.
        var isDiscarded = false
        /// What somebody has begun to write since the file was handed out to be read; merged when there is much of it.
        var overwritten: [Range<UInt64>] = []
        /// The newest connection that worked on it, and the push that it is part of.
        var newest: (connection: Int, run: UInt64?)?
        /// The newest of the store's records that this server has heard of; 0 where there are none, and before they were asked.
        var epoch: UInt64 = 0

        /// Where the last byte is that somebody brought, or brings.
        var end: UInt64 { claims.reduce(parts.end) { max($0, $1.claim.range.upperBound) } }

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
            claims.allSatisfy { !$0.claim.range.overlaps(range) || $0.claim.connection <= connection }
                && parts.newestConnection(in: range).map { $0 <= connection } ?? true
        }

        /// Nobody may write any of the bytes any more. Who is just writing some of them is leaving, and what is being read of them
        /// does not count.
        mutating func revoke(_ range: Range<UInt64>) {
            readings.removeAll { $0.block.overlaps(range) }
            for held in claims where held.isWriting && held.claim.range.overlaps(range) { leaving.append(held.claim) }
            claims.removeAll { $0.claim.range.overlaps(range) }
        }

        /// - Returns: false when another has taken it over.
        mutating func beginWriting(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else { return false }
            claims[index].isWriting = true
            return true
        }

        /// - Returns: false when another has taken it over, which may have waited for this.
        mutating func endWriting(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else {
                leaving.removeAll { $0 === claim }
                return false
            }
            claims[index].isWriting = false
            return true
        }

        /// - Returns: false when another has taken it over.
        mutating func release(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else { return false }
            claims.remove(at: index)
            return true
        }

        /// Nothing can be added any more.
        ///
        /// - Returns: the content.
        mutating func finish() -> (any StagedContent)? {
            revoke(0..<UInt64.max)
            defer { self = State(leaving: leaving, isFinished: true) }
            return place.content
        }
    }

    /// One block that came in pieces, as long as a thread reads it.
    final class BlockReading: Sendable {
        let block: Range<UInt64>

        init(_ block: Range<UInt64>) { self.block = block }
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

    let monitor: Monitor<State>

    /// What the store records of parts; nil where this object alone knows them.
    let records: (any PartRecords)?

    /// - Parameters:
    ///   - total: bytes of the upload, if they are known.
    ///   - started: nanoseconds of the monotonic clock.
    init(
        id: UploadID, total: UInt64?, function: DigestFunction, started: Int64, records: (any PartRecords)? = nil
    ) {
        (self.id, self.function, self.started, self.records) = (id, function, started, records)
        monitor = Monitor(State(total: total))
    }

    /// - Throws: `contentMismatch` when the upload was declared differently before, or has more already.
    func check(total: UInt64?, _ function: DigestFunction) throws(Failure) {
        let isSame = monitor.withLock {
            guard let total, !monitor.state.isFinished else { return true }
            return monitor.state.declare(total)
        }
        guard isSame, self.function == function else { throw .declaredOtherwise }
    }

    /// Whether its content is complete or was given up; nothing can be added any more.
    package var isFinished: Bool { monitor.withLock { monitor.state.isFinished } }

    /// The push that its newest connection is part of.
    var run: UInt64? { monitor.withLock { monitor.state.newest?.run } }

    /// Whether it holds nothing worth keeping in memory.
    var isEmpty: Bool {
        monitor.withLock {
            monitor.state.appendUpload == nil && monitor.state.parts.isEmpty && monitor.state.claims.isEmpty
        }
    }

    /// Bytes that are there and verified.
    package var verified: UInt64 { monitor.withLock { monitor.state.parts.size } }

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
        connection: Int, run: UInt64?, stage: () throws(Failure) -> any StagedContent
    ) throws(Failure) -> Presence {
        monitor.lock()
        defer { monitor.unlock() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.appendUpload == nil else { throw .declaredOtherwise }
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= connection }) else { throw .takenOver }
        monitor.state.note(connection, run)
        monitor.state.revoke(0..<UInt64.max)
        waitForWriters(of: 0..<UInt64.max)
        let (staged, wasOpened) = try open(stage)
        if records != nil { try beginEpoch() }
        guard wasOpened, records == nil else { return .known(monitor.state.parts) }
        return .unread(staged, total: monitor.state.total)
    }

    /// With the lock held, which it gives up while a disk is at work.
    ///
    /// - Returns: the content, and whether it was opened here and now.
    /// - Throws: `busy` when the upload was completed or given up meanwhile; what `stage` throws.
    func open(
        _ stage: () throws(Failure) -> any StagedContent
    ) throws(Failure) -> (staged: any StagedContent, wasOpened: Bool) {
        while case .opening = monitor.state.place { monitor.wait() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        if let content = monitor.state.place.content { return (content, false) }
        monitor.state.place = .opening
        monitor.state.overwritten = []
        monitor.unlock()
        let made = Result { () throws(Failure) in try stage() }
        monitor.lock()
        monitor.wakeAll()
        guard !monitor.state.isFinished else {
            if case .success(let content) = made, content.isNew { content.discard() }
            throw .beingCompleted
        }
        monitor.state.place = if case .success(let content) = made { .open(content) } else { .none }
        if case .success(let content) = made, !content.isNew { monitor.state.brought = .max }
        return (try made.get(), true)
    }

    /// With the lock held: until no thread writes for a claim on any of the bytes that was taken over.
    func waitForWriters(of range: Range<UInt64>) {
        while monitor.state.leaving.contains(where: { $0.range.overlaps(range) }) { monitor.wait() }
    }

    /// Keeps blocks that were found in the file. Where somebody has begun to write since it was handed out, they don't
    /// count, also if he has ended by now; nor behind an end that was declared meanwhile.
    func add(_ blocks: [SurveyedBlock]) {
        monitor.withLock {
            for block in blocks {
                guard monitor.state.contains(block.range),
                    !monitor.state.overwritten.contains(where: { $0.overlaps(block.range) })
                else { continue }
                monitor.state.parts.insertIfFree(
                    .init(RecordedPart(block.range, digests: block.digest), connection: VerifiedParts.Part.found))
            }
        }
    }

    /// The right to write some of the bytes. Older connections lose it, and what they wrote of them no longer counts.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - run: the push that it is part of.
    ///   - abilities: of the store. Without `writesAnywhere`, the range has to begin where the first byte is missing.
    ///   - stage: opens the file, for the first claim.
    /// - Throws: `contentMismatch` when some of the bytes are behind the upload's end; `incomplete` when a newer connection
    ///   has any of them; `busy` when the upload is being completed, or has too many pieces; what `stage` throws.
    func claim(
        _ range: Range<UInt64>, connection: Int, run: UInt64?, abilities: StoreAbilities = StoreAbilities(),
        stage: () throws(Failure) -> any StagedContent
    ) throws(Failure) -> PartClaim {
        monitor.lock()
        defer { monitor.unlock() }
        try check(range, connection)
        let (staged, _) = try open(stage)
        let epoch = try join()
        let isPiece = monitor.state.total.map { !range.isWholeBlocks(of: $0) } ?? false
        guard !isPiece || abilities.takesPieces else { throw .noPieces }
        guard !isPiece || monitor.state.parts.pieces < Self.mostPieces else { throw .tooManyPieces }
        let next = monitor.state.parts.contiguousEnd
        guard abilities.writesAnywhere || range.lowerBound == next else { throw .outOfOrder(next: next) }
        // A newer connection may have come meanwhile.
        try check(range, connection)
        monitor.state.note(connection, run)
        monitor.state.revoke(range)
        monitor.state.parts.remove(in: range)
        monitor.state.overwrite(range)
        let claim = PartClaim(range, isPiece: isPiece, connection: connection, epoch: epoch, of: self, in: staged)
        monitor.state.claims.append(Held(claim: claim))
        waitForWriters(of: range)
        try record(claim) { (records, epoch) throws(Failure) in
            try records.withdraw(range, of: id, epoch: epoch)
        }
        return claim
    }

    /// With the lock held: whether the bytes may be claimed.
    private func check(_ range: Range<UInt64>, _ connection: Int) throws(Failure) {
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.appendUpload == nil, monitor.state.contains(range) else { throw .declaredOtherwise }
        guard monitor.state.allows(range, connection) else { throw .takenOver }
    }

    /// A thread is about to write for the claim, until `endWriting`.
    ///
    /// - Throws: `incomplete` when another has taken it over.
    func beginWriting(_ claim: PartClaim) throws(Failure) {
        guard monitor.withLock({ monitor.state.beginWriting(claim) }) else { throw .takenOver }
    }

    func endWriting(_ claim: PartClaim) {
        monitor.withLock { if !monitor.state.endWriting(claim) { monitor.wakeAll() } }
    }

    /// All bytes of the claim are written and verified. Whoever brings the last piece of a block has it digested.
    ///
    /// - Parameter digests: of its blocks, one after the other; of no account where it is a piece of one.
    /// - Throws: `incomplete` when another has taken it over.
    func complete(_ claim: PartClaim, digests: [UInt8]) throws(Failure) {
        monitor.lock()
        defer { monitor.unlock() }
        let part = RecordedPart(claim.range, digests: claim.isPiece ? [] : digests)
        try record(claim, adds: part)
        guard monitor.state.release(claim) else { throw .takenOver }
        monitor.state.brought = monitor.state.brought.addingClamped(claim.brought)
        monitor.state.parts.insert(.init(part, connection: claim.connection))
        guard claim.isPiece, let block = monitor.state.total.flatMap({ claim.range.block(of: $0) }),
            monitor.state.parts.cover(block), monitor.state.readBlocks.insert(block.lowerBound).inserted
        else { return }
        // One that cannot be read now, or that somebody begins to write to, is read when the upload ends.
        _ = digest(block, in: claim.staged)
    }

    /// With the lock held, which it gives up while it reads: digests a block of which every piece is verified by itself. So none has to
    /// wait for another, and each block is read once when it is complete, and once more at the end if some of it has come again: that
    /// costs no more than the content had cost its sender.
    ///
    /// - Returns: nothing when the block cannot be read.
    private func digest(_ block: Range<UInt64>, in staged: any StagedContent) -> [UInt8]? {
        let reading = BlockReading(block)
        monitor.state.readings.append(reading)
        monitor.unlock()
        let digest = staged.digest(of: block, function)
        monitor.lock()
        // Without it somebody has taken some of the block over meanwhile.
        if let index = monitor.state.readings.firstIndex(where: { $0 === reading }) {
            monitor.state.readings.remove(at: index)
            if let digest { monitor.state.parts.complete(block, digest: digest) }
        }
        return digest
    }

    /// Pieces of blocks, each of which is remembered with who has brought it, but for those of one connection in a block that is
    /// complete. A push has some hundreds of them, at the end of a file.
    private static let mostPieces = 32_768

    /// No more of the claim will be written.
    ///
    /// - Parameter digests: of the whole blocks at its front that were, one after the other.
    func withdraw(_ claim: PartClaim, digests: [UInt8]) {
        let size = UInt64(digests.count / function.size) * UInt64(Limits.blockSize)
        // What was written may end within a block, but digests are there of whole ones only.
        let part = RecordedPart(claim.range.prefix(size), digests: digests)
        monitor.lock()
        defer { monitor.unlock() }
        // What cannot be recorded does not count, and comes again.
        guard size > 0, (try? record(claim, adds: part)) != nil else {
            _ = monitor.state.release(claim)
            return
        }
        guard monitor.state.release(claim) else { return }
        monitor.state.brought = monitor.state.brought.addingClamped(min(claim.brought, size))
        monitor.state.parts.insert(.init(part, connection: claim.connection))
    }

    /// Ends the multipart upload and hands out what it holds.
    ///
    /// - Parameter total: bytes of the upload.
    /// - Returns: the file, which may have more bytes, and the digest of those; nothing when bytes are missing, and then it
    ///   goes on.
    /// - Throws: `busy` when it is being completed, `storageFailed` when a block that came in pieces cannot be read; what the records
    ///   throw.
    func finish(total: UInt64) throws(Failure) -> (staged: any StagedContent, digest: Digest)? {
        monitor.lock()
        defer { monitor.unlock() }
        try refresh()
        guard let staged = try complete(total: total) else { return nil }
        for block in monitor.state.parts.undigestedBlocks(of: total) {
            // While the one before was read, another connection may have begun to write to this one.
            guard monitor.state.parts.cover(block) else { return nil }
            guard digest(block, in: staged) != nil else { throw .unreadableBlock }
        }
        // Others may have come meanwhile.
        guard try complete(total: total) != nil, let digests = monitor.state.parts.digests(total: total) else {
            return nil
        }
        _ = close()
        return (staged, BlockTree.root(digests, function))
    }

    /// With the lock held.
    ///
    /// - Returns: the content, when every byte of it is there.
    private func complete(total: UInt64) throws(Failure) -> (any StagedContent)? {
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.parts.end == total, monitor.state.parts.contiguousEnd == total else { return nil }
        return monitor.state.place.content
    }

    /// Ends the multipart upload and throws away what there is of the upload, at the wish of its client.
    ///
    /// - Parameters:
    ///   - connection: the number of the caller's; they grow.
    ///   - run: the push that it is part of.
    ///   - remove: throws the file away, where it is not open.
    /// - Throws: `incomplete` when a newer connection of another push works on it; `busy` when it is being completed; what
    ///   `remove` throws.
    func takeBack(
        connection: Int, run: UInt64?, remove: () throws(Failure) -> Void
    ) throws(Failure) {
        let staged = try endTaking(back: connection, run)
        // It has its end: until it is forgotten, nobody finds what is about to go.
        if let staged { staged.discard() } else { try remove() }
    }

    private func endTaking(back connection: Int, _ run: UInt64?) throws(Failure) -> (any StagedContent)? {
        monitor.lock()
        defer { monitor.unlock() }
        try checkEpoch()
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.mayBeTakenBack(by: connection, run) else { throw .takenOver }
        return close()
    }

    /// Ends the multipart upload, and asks nothing of the disk.
    ///
    /// - Returns: how many bytes were there, verified, and not holes, and the file, the caller's from now on; nil when somebody
    ///   else has ended it, who has the file.
    func end() -> (brought: UInt64, file: (any StagedContent)?)? {
        monitor.withLock {
            guard !monitor.state.isFinished else { return nil }
            // Its sender was told of it, however little it is.
            let isAppend = monitor.state.appendUpload != nil
            let brought = isAppend ? .max : min(monitor.state.brought, monitor.state.parts.size)
            return (brought, close())
        }
    }

    /// With the lock held. Nobody writes any more when it returns.
    func close() -> (any StagedContent)? {
        let staged = monitor.state.finish()
        monitor.wakeAll()
        waitForWriters(of: 0..<UInt64.max)
        return staged
    }
}
