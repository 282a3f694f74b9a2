import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// An upload that arrives in parts, over any number of connections and in any order. Verified parts stay when their
/// connection is lost; bytes that are not verified never count. An append upload is a multipart upload too: each
/// request claims all bytes behind those that have arrived (`claimEnd`).
///
/// ```
///   enter (MultipartUploads) ──► takeOver: what is there ──► claim ──► write ──► complete ──► … ──► finish: content and digest
///                                                              │ another connection claims the same bytes
///                                                              └──► the older claim is revoked, and its bytes do not count
///   takeBack, end ──► nothing can be added any more
/// ```
///
/// The lock is held for a moment only, never while a disk is at work, so event loops may take it. A thread that needs
/// what another one is doing (opening the content, or writing the last bytes of a part that was taken over) waits for
/// that thread alone.
package final class MultipartUpload: Sendable {
    /// Where the content of the upload is.
    enum Place {
        case none
        /// A thread is opening the content.
        case opening
        case open(any StagedContent)

        var content: (any StagedContent)? {
            if case .open(let content) = self { content } else { nil }
        }
    }

    /// A claim, and whether a thread is writing under it.
    struct Held {
        let claim: PartClaim
        var isWriting = false
    }

    struct State {
        /// Bytes of the upload; nil until they are known.
        var total: UInt64?
        var place = Place.none
        var parts = VerifiedParts()
        /// Bytes that connections have sent, without holes; `max` if an earlier server has left some content.
        var brought: UInt64 = 0
        /// The state of an append upload; nil for an upload in parts.
        var appendUpload: AppendUpload?
        /// The current claims; each connection has one at most.
        var claims: [Held] = []
        /// Claims that were taken over while a thread was writing under them, until that thread has finished.
        var leaving: [PartClaim] = []
        /// Blocks that arrived in pieces and are being digested.
        var readings: [BlockReading] = []
        /// Offsets of the blocks that were once complete in pieces. Each was read then, whether or not that succeeded.
        var readBlocks: Set<UInt64> = []
        var isFinished = false
        /// Whether there is content of an earlier server that has not been read to the end.
        var isUnread = false
        /// Whether the upload was discarded, so that its place is free.
        var isDiscarded = false
        /// Ranges that connections have begun to write since the content was handed out to be read; merged when they
        /// are many.
        var overwritten: [Range<UInt64>] = []
        /// The newest connection that worked on the upload, and its push.
        var newest: (connection: Int, run: UInt64?)?
        /// The newest epoch of the store's records that this server knows; 0 if there are no records, and before they
        /// are read.
        var epoch: UInt64 = 0

        /// The end of the last byte that is verified or claimed.
        var end: UInt64 { claims.reduce(parts.end) { max($0, $1.claim.range.upperBound) } }

        /// Sets the size of the upload.
        ///
        /// - Returns: false if the upload cannot have this size.
        mutating func declare(_ total: UInt64) -> Bool {
            guard self.total ?? total == total, end <= total else { return false }
            self.total = total
            return true
        }

        /// Notes that a connection writes to this range, so that what others have read of it no longer counts.
        mutating func overwrite(_ range: Range<UInt64>) {
            overwritten.append(range)
            guard overwritten.count > Self.mostOverwritten, let first = overwritten.map(\.lowerBound).min(),
                let end = overwritten.map(\.upperBound).max()
            else { return }
            overwritten = [first..<end]
        }

        private static let mostOverwritten = 1024

        /// Whether the range can belong to the upload.
        func contains(_ range: Range<UInt64>) -> Bool { !range.isEmpty && range.upperBound <= total ?? .max }

        mutating func note(_ connection: Int, _ run: UInt64?) {
            guard newest.map({ $0.connection <= connection }) ?? true else { return }
            newest = (connection, run)
        }

        /// Whether no newer connection of another push works on the upload.
        func mayBeTakenBack(by connection: Int, _ run: UInt64?) -> Bool {
            guard let newest, newest.connection > connection else { return true }
            return run != nil && newest.run == run
        }

        /// Whether no newer connection has claimed or sent any of the bytes.
        func allows(_ range: Range<UInt64>, _ connection: Int) -> Bool {
            claims.allSatisfy { !$0.claim.range.overlaps(range) || $0.claim.connection <= connection }
                && parts.newestConnection(in: range).map { $0 <= connection } ?? true
        }

        /// Revokes all claims on any of the bytes. Claims under which a thread is writing move to `leaving`, and
        /// readings of these bytes no longer count.
        mutating func revoke(_ range: Range<UInt64>) {
            readings.removeAll { $0.block.overlaps(range) }
            for held in claims where held.isWriting && held.claim.range.overlaps(range) { leaving.append(held.claim) }
            claims.removeAll { $0.claim.range.overlaps(range) }
        }

        /// - Returns: false if another connection has taken the claim over.
        mutating func beginWriting(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else { return false }
            claims[index].isWriting = true
            return true
        }

        /// - Returns: false if another connection has taken the claim over; it can be waiting for this call.
        mutating func endWriting(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else {
                leaving.removeAll { $0 === claim }
                return false
            }
            claims[index].isWriting = false
            return true
        }

        /// - Returns: false if another connection has taken the claim over.
        mutating func release(_ claim: PartClaim) -> Bool {
            guard let index = claims.firstIndex(where: { $0.claim === claim }) else { return false }
            claims.remove(at: index)
            return true
        }

        /// Ends the upload, so that nothing can be added any more.
        ///
        /// - Returns: the content.
        mutating func finish() -> (any StagedContent)? {
            revoke(0..<UInt64.max)
            defer { self = State(leaving: leaving, isFinished: true) }
            return place.content
        }
    }

    /// A block that arrived in pieces, while a thread reads it.
    final class BlockReading: Sendable {
        let block: Range<UInt64>

        init(_ block: Range<UInt64>) { self.block = block }
    }

    /// What the server has of an upload when it is taken over.
    enum Presence {
        /// Parts that were verified while this server received them.
        case known(VerifiedParts)
        /// Content of an earlier server that has to be read, up to the size of the upload if that is known. Parts that
        /// were verified since are in memory.
        case unread(any StagedContent, total: UInt64?)
    }

    let id: UploadID
    /// Digests the blocks of parts. An append upload has its own digester.
    let function: DigestFunction

    /// When this server learnt of the upload, in nanoseconds of the monotonic clock.
    package let started: Int64

    let monitor: Monitor<State>

    /// The store's records of parts; nil if only this object knows them.
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

    /// - Throws: `contentMismatch` if the upload was declared differently before, or is longer already.
    func check(total: UInt64?, _ function: DigestFunction?) throws(Failure) {
        let isSame = monitor.withLock {
            guard let total, !monitor.state.isFinished else { return true }
            return monitor.state.declare(total)
        }
        guard isSame, function == nil || function == self.function else { throw .declaredOtherwise }
    }

    /// Whether the upload is complete or given up, so that nothing can be added.
    package var isFinished: Bool { monitor.withLock { monitor.state.isFinished } }

    /// The push of the newest connection.
    var run: UInt64? { monitor.withLock { monitor.state.newest?.run } }

    /// Whether it holds nothing that is worth keeping in memory.
    package var isEmpty: Bool {
        monitor.withLock {
            monitor.state.appendUpload == nil && monitor.state.parts.isEmpty && monitor.state.claims.isEmpty
        }
    }

    /// Takes the whole upload over from all older connections, even if they still seem to be alive: the client has come
    /// again and knows that they are lost.
    ///
    /// - Parameters:
    ///   - connection: the caller's number. Newer connections have greater numbers.
    ///   - run: the push of the connection.
    ///   - stage: opens the content, if it is not open.
    /// - Returns: what the server has of the upload.
    /// - Throws: `incomplete` if a newer connection works on it; `busy` if it is being completed; errors of `stage`.
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
        let staged = try open(stage)
        if records != nil { try beginEpoch() }
        guard monitor.state.isUnread, records == nil else { return .known(monitor.state.parts) }
        return .unread(staged, total: monitor.state.total)
    }

    /// Called with the lock held; releases it while a disk is at work.
    ///
    /// - Throws: `busy` if the upload was completed or given up meanwhile; errors of `stage`.
    func open(_ stage: () throws(Failure) -> any StagedContent) throws(Failure) -> any StagedContent {
        while case .opening = monitor.state.place { monitor.wait() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        if let content = monitor.state.place.content { return content }
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
        if case .success(let content) = made, !content.isNew {
            (monitor.state.brought, monitor.state.isUnread) = (.max, true)
        }
        return try made.get()
    }

    /// Called with the lock held: waits until no thread writes under a revoked claim on any of these bytes.
    func waitForWriters(of range: Range<UInt64>) {
        while monitor.state.leaving.contains(where: { $0.range.overlaps(range) }) { monitor.wait() }
    }

    /// Adds blocks that were found in the content. Blocks that a connection has begun to write since the content was
    /// handed out don't count, even if that connection has ended, nor do blocks behind an end that was declared
    /// meanwhile.
    ///
    /// - Returns: the blocks that count. A connection that has added one of them before has read the same bytes.
    func add(_ blocks: [SurveyedBlock]) -> [SurveyedBlock] {
        monitor.withLock {
            let blocks = blocks.filter { block in
                monitor.state.contains(block.range)
                    && !monitor.state.overwritten.contains { $0.overlaps(block.range) }
            }
            for block in blocks {
                monitor.state.parts.insertIfFree(
                    .init(RecordedPart(block.range, digests: block.digest), connection: VerifiedParts.Part.found))
            }
            return blocks
        }
    }

    /// Notes that a connection has read the content to the end.
    ///
    /// - Returns: all verified parts.
    func endReading() -> VerifiedParts {
        monitor.withLock {
            monitor.state.isUnread = false
            return monitor.state.parts
        }
    }

    /// Claims some of the bytes. Older connections lose them, and what they have written of them no longer counts.
    ///
    /// - Parameters:
    ///   - connection: the caller's number. Newer connections have greater numbers.
    ///   - run: the push of the connection.
    ///   - abilities: those of the store. Without `writesAnywhere`, the range has to begin at the first missing byte.
    ///   - stage: opens the content for the first claim.
    /// - Throws: `contentMismatch` if some of the bytes are behind the upload's end; `incomplete` if a newer connection
    ///   has any of them; `busy` if the upload is being completed, or has too many pieces; errors of `stage`.
    func claim(
        _ range: Range<UInt64>, connection: Int, run: UInt64?, abilities: StoreAbilities = StoreAbilities(),
        stage: () throws(Failure) -> any StagedContent
    ) throws(Failure) -> PartClaim {
        monitor.lock()
        defer { monitor.unlock() }
        try check(range, connection)
        let staged = try open(stage)
        let joined = try join(range)
        let isPiece = monitor.state.total.map { !range.isWholeBlocks(of: $0) } ?? false
        guard !isPiece || abilities.takesPieces else { throw .noPieces }
        guard !isPiece || monitor.state.parts.pieces < Self.mostPieces else { throw .tooManyPieces }
        let next = monitor.state.parts.contiguousEnd
        guard abilities.writesAnywhere || range.lowerBound == next else { throw .outOfOrder(next: next) }
        // While the lock was released, a newer connection can have claimed the bytes.
        try check(range, connection)
        monitor.state.note(connection, run)
        monitor.state.revoke(range)
        monitor.state.parts.remove(in: range)
        monitor.state.overwrite(range)
        let claim = PartClaim(
            range, isPiece: isPiece, connection: connection, epoch: joined?.epoch, of: self, in: staged)
        monitor.state.claims.append(Held(claim: claim))
        // An older claim may be recording bytes at this moment.
        let isFree = monitor.state.leaving.isEmpty
        waitForWriters(of: range)
        // What another server records from now on is replaced when this part is verified.
        guard joined?.hasBytes ?? false || !isFree else { return claim }
        try record(claim) { (records, epoch) throws(Failure) in
            try records.withdraw(range, of: id, epoch: epoch)
        }
        return claim
    }

    /// Called with the lock held: checks whether the bytes may be claimed.
    private func check(_ range: Range<UInt64>, _ connection: Int) throws(Failure) {
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.appendUpload == nil, monitor.state.contains(range) else { throw .declaredOtherwise }
        guard monitor.state.allows(range, connection) else { throw .takenOver }
    }

    /// Begins a write under the claim, until `endWriting`.
    ///
    /// - Throws: `incomplete` if another connection has taken the claim over.
    func beginWriting(_ claim: PartClaim) throws(Failure) {
        guard monitor.withLock({ monitor.state.beginWriting(claim) }) else { throw .takenOver }
    }

    func endWriting(_ claim: PartClaim) {
        monitor.withLock { if !monitor.state.endWriting(claim) { monitor.wakeAll() } }
    }

    /// Ends a claim of which all bytes are written and verified. The connection that adds the last piece of a block has
    /// the block digested.
    ///
    /// - Parameter digests: concatenated digests of the claimed blocks; ignored for a piece of a block.
    /// - Throws: `incomplete` if another connection has taken the claim over.
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
        // A block that cannot be read now, or that a connection begins to write to, is read when the upload ends.
        _ = digest(block, in: claim.staged)
    }

    /// Digests a block of which every piece is verified. Called with the lock held; releases it while it reads. No
    /// connection has to wait for another's pieces. Each block is read once when it is complete, and once more at the
    /// end if some of it was sent again; that costs no more than sending it cost the client.
    ///
    /// - Returns: nil if the block cannot be read.
    func digest(_ block: Range<UInt64>, in staged: any StagedContent) -> [UInt8]? {
        let reading = BlockReading(block)
        monitor.state.readings.append(reading)
        monitor.unlock()
        let digest = staged.digest(of: block, function)
        monitor.lock()
        // If the reading is gone, a connection has claimed some of the block meanwhile.
        if let index = monitor.state.readings.firstIndex(where: { $0 === reading }) {
            monitor.state.readings.remove(at: index)
            if let digest { monitor.state.parts.complete(block, digest: digest) }
        }
        return digest
    }

    /// The most pieces of blocks in one upload. Each is remembered with its connection, until one connection has
    /// completed the block. A push has some hundreds of them, at the ends of files.
    static let mostPieces = 32_768

    /// Gives up a claim.
    ///
    /// - Parameter digests: the concatenated digests of the whole blocks that were written at the front of the claim.
    func withdraw(_ claim: PartClaim, digests: [UInt8]) {
        let size = UInt64(digests.count / function.size) * UInt64(Limits.blockSize)
        // The content may end within a block, but there are digests of whole blocks only.
        let part = RecordedPart(claim.range.prefix(size), digests: digests)
        monitor.lock()
        defer { monitor.unlock() }
        // Blocks that cannot be recorded do not count, and the client sends them again.
        guard size > 0, (try? record(claim, adds: part)) != nil else {
            _ = monitor.state.release(claim)
            return
        }
        guard monitor.state.release(claim) else { return }
        monitor.state.brought = monitor.state.brought.addingClamped(min(claim.brought, size))
        monitor.state.parts.insert(.init(part, connection: claim.connection))
    }
}
