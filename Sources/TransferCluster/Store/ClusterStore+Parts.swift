package import TransferModel
package import TransferPorts
import TransferSystem

extension ClusterStore: PartStore {
    package var records: (any PartRecords)? { ClusterParts(self) }

    package func resume(
        id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?
    ) throws(Failure) -> ClusterStaged {
        try begin(id, reserved: size ?? 0, append: nil, quota: quota) { (row, isNew, hold) throws(Failure) in
            guard row.append == nil else { throw .takenID }
            return try part(row, isNew: isNew, hold)
        }
    }

    /// Reserves room for an unfinished upload, and makes a row for it, unless there is one.
    ///
    /// A row counts for the quotas of all servers as soon as it is there. So that the upload does not count twice, the
    /// quotas are counted first, and room is reserved before the row is made.
    ///
    /// - Parameter use: if it throws, the reserved room is given back.
    fileprivate func begin<Part>(
        _ id: UploadID, reserved: UInt64, append: OpenUploadRow.Append?, quota: Quota?,
        _ use: (OpenUploadRow, _ isNew: Bool, SpaceHold?) throws(Failure) -> Part
    ) throws(Failure) -> Part {
        let quotas = [space?.quota, quota].compactMap(\.self)
        for quota in quotas { quota.countOnce() }
        let before = quotas.map { $0.size(ofPart: id) }
        let hold = SpaceHold(space, client: quota, part: id)
        try hold?.grow(to: reserved)
        do throws(Failure) {
            let (row, isNew) = try makeRow(id, reserved: reserved, append: append)
            return try use(row, isNew, hold)
        } catch {
            for (quota, size) in zip(quotas, before) { quota.release(part: id, but: size) }
            throw error
        }
    }

    private func makeRow(
        _ id: UploadID, reserved: UInt64, append: OpenUploadRow.Append?
    ) throws(Failure) -> (row: OpenUploadRow, isNew: Bool) {
        // The first epoch is a number that was not used before, so that an upload that begins again with the same ID has
        // no epoch that it had before.
        let epoch = try ask { () throws(LedgerError) in try objects.numbers.next() }
        let row = OpenUploadRow(
            id: id, epoch: epoch, reserved: reserved, written: clock.now, append: append)
        return try ask { () throws(LedgerError) in try ledger.begin(row, limit: UnfinishedContent.mostParts) }
    }

    fileprivate func part(_ row: OpenUploadRow, isNew: Bool, _ hold: SpaceHold?) throws(Failure) -> ClusterStaged {
        try hold?.grow(to: row.reserved)
        return staged(row.id) { ClusterStaged(of: self, for: row.id, hold: hold, isRecorded: true, isNew: isNew) }
    }

    package func hasPart(_ id: UploadID) -> Bool {
        do throws(LedgerError) { return try ledger.upload(id) != nil } catch { return true }
    }

    package func part(_ id: UploadID) -> UnfinishedPart? {
        guard let row = try? ledger.upload(id)?.row else { return nil }
        return UnfinishedPart(size: row.reserved, written: moment(of: row))
    }

    /// When something was last added to an upload, by this server's clock; UTC, in nanoseconds since 1970.
    private func moment(of row: OpenUploadRow) -> Int64 {
        let age = clock.now.subtractingReportingOverflow(row.written)
        guard !age.overflow else { return row.written }
        return configuration.utc().subtractingReportingOverflow(age.partialValue).partialValue
    }

    package func removePart(_ id: UploadID) throws(Failure) { try removePart(id, in: nil) }

    /// - Parameter epoch: the epoch in which the upload is removed; nil for any. In a later one, another server works on
    ///   the upload.
    func removePart(_ id: UploadID, in epoch: UInt64?) throws(Failure) {
        for _ in 0..<Self.mostAttempts {
            guard let found = try ask({ () throws(LedgerError) in try ledger.upload(id) }),
                epoch ?? found.row.epoch == found.row.epoch
            else { break }
            if try end(found.row) { break }
        }
        forgetPart(id)
    }

    /// Removes an unfinished upload if nothing was added to it since it was found.
    ///
    /// - Returns: false if another server works on the upload, or has removed it.
    fileprivate func removePart(asFound row: OpenUploadRow) throws(Failure) -> Bool {
        guard try end(row, isUntouched: true) else { return false }
        forgetPart(row.id)
        return true
    }

    /// Removes the row of an unfinished upload, with its parts.
    ///
    /// - Parameter isUntouched: whether that is refused if something was added since the row was found.
    /// - Returns: false if the upload has another epoch by now, or if that is refused.
    private func end(_ row: OpenUploadRow, isUntouched: Bool = false) throws(Failure) -> Bool {
        var changes = LedgerChanges()
        changes.ended[row.id] = row.epoch
        if isUntouched { changes.untouched[row.id] = row.written }
        do throws(LedgerError) {
            try ledger.apply(changes)
            return true
        } catch {
            guard error.reason == .conflict else { throw Failure(ledger: error) }
            return false
        }
    }

    private func forgetPart(_ id: UploadID) {
        staged(id)?.forgetBytes()
        space?.quota?.release(part: id)
    }

    package func unfinished() throws(Failure) -> UnfinishedContent {
        var content = UnfinishedContent()
        for row in try ask({ () throws(LedgerError) in try ledger.uploads() }) {
            content.count += 1
            content.bytes = content.bytes.addingClamped(row.reserved)
        }
        return content
    }

    /// Removes nothing: what no client can resume has no row, and the sweeper deletes its objects.
    package func removeLeftovers() throws(Failure) -> UnfinishedContent { UnfinishedContent() }

    package func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        var removed = UnfinishedContent()
        try ask { () throws(LedgerError) in try clock.compare() }
        for row in try ask({ () throws(LedgerError) in try ledger.uploads() })
        where isOld(Int(moment(of: row) / 1_000_000_000)) && !isInUse(row.id) {
            // An upload that goes on at another server by now is not old any more.
            guard try removePart(asFound: row) else { continue }
            removed.count += 1
            removed.bytes = removed.bytes.addingClamped(row.reserved)
        }
        return removed
    }
}

extension Failure {
    fileprivate static let takenID = Failure(.contentMismatch, "The upload id is in use for other content.")
}

/// The verified parts of uploads, whose bytes are in the bucket before they are recorded.
struct ClusterParts: PartRecords {
    private let store: ClusterStore

    init(_ store: ClusterStore) { self.store = store }

    func join(_ id: UploadID) throws(Failure) -> RecordedParts {
        try recorded(try store.ask { () throws(LedgerError) in try store.ledger.upload(id) })
    }

    func look(_ id: UploadID, in range: Range<UInt64>) throws(Failure) -> (epoch: UInt64, hasBytes: Bool) {
        let found = try store.ask { () throws(LedgerError) in try store.ledger.epoch(of: id, range) }
        guard let found else { throw .takenOver }
        store.staged(id)?.opened(in: found.epoch)
        return (found.epoch, found.hasParts)
    }

    func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts {
        try recorded(try store.ask { () throws(LedgerError) in try store.ledger.takeOver(id) })
    }

    func remove(_ id: UploadID, below size: UInt64) throws(Failure) -> Bool {
        for _ in 0..<ClusterStore.mostAttempts {
            guard let (row, parts) = try store.ask({ () throws(LedgerError) in try store.ledger.upload(id) }) else {
                return true
            }
            let ranges = parts.map(\.part.range)
            guard ranges.reduce(0, { $0.addingClamped($1.upperBound - $1.lowerBound) }) < size else { return false }
            if try store.removePart(asFound: row) { return true }
        }
        return false
    }

    private func recorded(_ found: (row: OpenUploadRow, parts: [PartRow])?) throws(Failure) -> RecordedParts {
        guard let found else { throw .takenOver }
        store.staged(found.row.id)?.opened(in: found.row.epoch)
        return RecordedParts(epoch: found.row.epoch, found.parts.map(\.part))
    }

    func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure) {
        try replace(range, by: nil, [], of: id, epoch: epoch)
    }

    func add(_ part: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure) {
        guard let staged = store.staged(id) else { throw .takenOver }
        let (extents, objects) = try staged.storePart(part.range)
        do throws(Failure) {
            try replace(part.range, by: PartRow(part, extents), objects, of: id, epoch: epoch)
        } catch {
            // After any other failure, the part may be recorded.
            if error.code == .incomplete { store.discardObjects(objects) }
            throw error
        }
    }

    private func replace(
        _ range: Range<UInt64>, by part: PartRow?, _ objects: [ObjectRow], of id: UploadID, epoch: UInt64
    ) throws(Failure) {
        let row = OpenUploadRow(id: id, epoch: epoch, reserved: range.upperBound, written: store.clock.now)
        do throws(LedgerError) {
            try store.ledger.replace(range, by: part, objects, in: row, epoch: objects.first?.number.epoch)
        } catch {
            switch error.reason {
            case .conflict: throw .takenOver
            case .epochClosed:
                store.objects.numbers.abandon()
                throw Failure(ledger: error)
            default: throw Failure(ledger: error)
            }
        }
    }
}

// MARK: Append uploads

extension ClusterStore: AppendStore {
    package func makeAppendable(
        id: UploadID, size: UInt64?, function: DigestFunction, declaration: [UInt8], quota: Quota?
    ) throws(Failure) -> ClusterAppendable {
        let append = OpenUploadRow.Append(declaration: declaration, kept: AppendMark(function))
        return try begin(id, reserved: size ?? 0, append: append, quota: quota) { (row, isNew, hold) throws(Failure) in
            guard isNew else { throw .takenID }
            return ClusterAppendable(row, try part(row, isNew: true, hold), in: self)
        }
    }

    package func appendable(
        id: UploadID, quota: Quota?,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> ClusterAppendable? {
        guard let found = try ask({ () throws(LedgerError) in try ledger.takeOver(id) }), found.row.append != nil else {
            return nil
        }
        for quota in [space?.quota, quota] { quota?.countOnce() }
        let staged = try part(found.row, isNew: false, SpaceHold(space, client: quota, part: id))
        staged.hold?.shrink(to: found.row.append?.kept.offset ?? 0)
        return ClusterAppendable(found.row, staged, in: self)
    }
}

/// An append upload, whose kept bytes are in the bucket. Used by one thread at a time.
///
/// A connection that opens it begins another epoch, so that an older one, perhaps at another server, keeps nothing more.
package final class ClusterAppendable: AppendableContent {
    private let row: OpenUploadRow
    private let staged: ClusterStaged
    private let store: ClusterStore
    private let mark: Locked<AppendMark>
    package let declaration: [UInt8]

    /// Always false: what could not be stored is not kept, and what was kept is in the bucket.
    package let isLost = false

    init(_ row: OpenUploadRow, _ staged: ClusterStaged, in store: ClusterStore) {
        (self.row, self.staged, self.store) = (row, staged, store)
        mark = Locked(row.append?.kept ?? AppendMark())
        staged.opened(in: row.epoch)
        declaration = row.append?.declaration ?? []
    }

    package var content: any StagedContent { staged }

    package var kept: AppendMark { mark.withLock { $0 } }

    package func read(
        _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let found = try store.ask { () throws(LedgerError) in try store.ledger.upload(row.id) }
        guard let found else { throw .appendLost }
        try staged.read(range, found.parts.flatMap(\.extents), body)
    }

    package func keep(_ mark: AppendMark) throws(Failure) {
        let before = kept
        guard mark.offset >= before.offset else { throw .appendLost }
        let range = before.offset..<mark.offset
        let (extents, objects) = try staged.storePart(range)
        var state = row
        state.reserved = max(state.reserved, mark.offset)
        state.written = store.clock.now
        state.append = OpenUploadRow.Append(declaration: declaration, kept: mark)
        let part = range.isEmpty ? nil : PartRow(RecordedPart(range, digests: []), extents)
        do throws(LedgerError) {
            try store.ledger.replace(range, by: part, objects, in: state, epoch: objects.first?.number.epoch)
        } catch {
            guard error.reason == .conflict else { throw Failure(ledger: error) }
            store.discardObjects(objects)
            throw .takenOver
        }
        self.mark.withLock { $0 = mark }
    }

    /// Does nothing: the transaction that publishes the upload also ends it.
    package func note(_ mark: AppendMark) {}

    package func discard() { staged.discard() }

    /// Does nothing: the transaction that publishes the upload also ends it.
    package func forgetIfGone() {}
}
