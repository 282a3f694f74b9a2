package import TransferModel
import TransferPorts
import TransferSystem

/// The multipart uploads by their ids. An upload stays in memory for a while after the last connection that worked on
/// it is lost, so that a client that comes back can resume it.
package final class MultipartUploads: Sendable {
    private struct Entry {
        let multipart: MultipartUpload
        /// The party that began the upload, or resumed it when no connection worked on it.
        var accountHolder: AccountHolder
        /// The number of connections that work on it.
        var connections = 0
        /// When the last connection left, in nanoseconds of the monotonic clock.
        var deserted: Int64 = 0
    }

    private let state = Locked([UploadID: Entry]())
    private let limit: Int
    private let records: (any PartRecords)?
    private let removed: @Sendable (UploadID) -> Void

    /// - Parameters:
    ///   - limit: the most uploads in memory; each holds a descriptor.
    ///   - records: the store's records of parts; nil if it has none.
    ///   - removed: called, with no lock held, for each upload that is removed from memory; its part may still be on
    ///     the disk.
    init(
        limit: Int, records: (any PartRecords)? = nil, removed: @escaping @Sendable (UploadID) -> Void = { _ in }
    ) {
        self.limit = max(1, limit)
        self.records = records
        self.removed = removed
    }

    package subscript(id: UploadID) -> MultipartUpload? { state.withLock { $0[id]?.multipart } }

    package var isEmpty: Bool { state.withLock { $0.isEmpty } }

    /// Whether a thread is opening the content of any upload.
    package var isOpening: Bool {
        let uploads = state.withLock { $0.values.map(\.multipart) }
        return uploads.contains(where: \.isOpening)
    }

    /// Finds or makes the multipart upload with an id; the caller holds it until it calls `leave`.
    ///
    /// - Parameters:
    ///   - total: bytes of the upload, if they are known.
    ///   - function: digests the blocks of parts; nil for an append upload, which has its own digester.
    ///   - accountHolder: the party whose account it counts for.
    ///   - now: nanoseconds of the monotonic clock.
    /// - Throws: `contentMismatch` if the upload was declared differently before; `busy` if it is being completed, if
    ///   connections work on as many uploads as there may be, or if the account holder works on as many as it may have.
    func enter(
        _ id: UploadID, total: UInt64?, _ function: DigestFunction?, accountHolder: AccountHolder, now: Int64
    ) throws(Failure) -> MultipartUpload {
        var leaving: Leaving?
        defer { leaving.map(finish) }
        let multipart = try state.withLock { (entries) throws(Failure) in
            if entries[id]?.connections ?? 0 == 0, !Self.leavesEnough(accountHolder, entries, limit) {
                throw .tooManyOfOne
            }
            if entries[id] == nil, entries.count >= limit {
                leaving = Self.longestDeserted(of: entries)
                guard leaving != nil else { throw .tooManyMultiparts }
            }
            var entry =
                entries[id]
                ?? Entry(
                    multipart: MultipartUpload(
                        id: id, total: total, function: function ?? .xxh128, started: now, records: records),
                    accountHolder: accountHolder)
            if entry.connections == 0 { entry.accountHolder = accountHolder }
            // A finished upload keeps its file's name until it is published. Opening that file now would mean writing
            // to content that is about to be acknowledged.
            guard !entry.multipart.isFinished else { throw .beingCompleted }
            entry.connections += 1
            entries[id] = entry
            return entry.multipart
        }
        // Checked outside the lock, because a thread with the upload's lock may be waiting for the disk.
        do throws(Failure) {
            try multipart.check(total: total, function)
            return multipart
        } catch {
            // Meanwhile the upload may have ended, and another one with the same id may have begun.
            state.withLock { if $0[id]?.multipart === multipart { $0[id]?.connections -= 1 } }
            throw error
        }
    }

    /// Whether the account holder may work on one more upload. Each may work on an eighth of the limit, and the last
    /// eighth is reserved for account holders that work on none yet. Uploads without a connection do not count.
    private static func leavesEnough(
        _ accountHolder: AccountHolder, _ entries: [UploadID: Entry], _ limit: Int
    ) -> Bool {
        var (held, own) = (0, 0)
        for entry in entries.values where entry.connections > 0 {
            held += 1
            if entry.accountHolder == accountHolder { own += 1 }
        }
        let share = max(1, limit / 8)
        return own == 0 || own < share && held < limit - share
    }

    /// An upload that can no longer be entered. It keeps its place until `finish`; otherwise a new connection would
    /// open a file that is about to be removed.
    private struct Leaving {
        let multipart: MultipartUpload
        let file: (any StagedContent)?
        let keepsFile: Bool

        /// - Parameter least: the number of bytes of content from which on the file stays.
        /// - Returns: nil for an upload that another thread has just ended.
        init?(_ multipart: MultipartUpload, keepingFrom least: UInt64) {
            guard let ended = multipart.end() else { return nil }
            self.multipart = multipart
            keepsFile = ended.brought >= least
            file = ended.file
        }
    }

    /// May wait for the disk, so it is called without the lock.
    private func finish(_ leaving: Leaving) {
        if let file = leaving.file {
            // The room reserved for the rest is free for others until the upload is resumed.
            let isKept = leaving.keepsFile || !file.isNew || isKeptByOthers(leaving.multipart.id)
            if isKept { file.giveBackRoom() } else { file.discard() }
        }
        remove(leaving.multipart)
    }

    /// Whether other servers have brought content, or may have. If not, the upload is removed for all servers.
    private func isKeptByOthers(_ id: UploadID) -> Bool {
        guard let records else { return false }
        do throws(Failure) { return try !records.remove(id, below: Self.leastKept) } catch { return true }
    }

    /// The upload that has had no connection for longest.
    private static func longestDeserted(of entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.values.filter { $0.connections == 0 && !$0.multipart.isFinished }
        return deserted.min { $0.deserted < $1.deserted }.flatMap { Leaving($0.multipart, keepingFrom: leastKept) }
    }

    /// Bytes from which on an upload stays on the disk when it leaves memory. All clients together have 16,384 places
    /// there, so taking one must cost a client something. Holes cost nothing and do not count.
    private static let leastKept = UInt64(Limits.blockSize)

    /// Called when a connection leaves the upload. If it was the last one and there is no content, the file is removed,
    /// so that clients cannot fill a disk with declarations.
    func leave(_ multipart: MultipartUpload, now: Int64) {
        let leaving = state.withLock { entries -> Leaving? in
            guard var entry = entries[multipart.id], entry.multipart === multipart else { return nil }
            entry.connections -= 1
            entry.deserted = now
            entries[multipart.id] = entry
            guard entry.connections == 0, !multipart.isFinished else { return nil }
            if multipart.isEmpty { return Leaving(multipart, keepingFrom: 1) }
            return multipart.isAppend ? Self.oneAppendTooMany(entries) : nil
        }
        leaving.map(finish)
    }

    /// Opening an append upload again is cheap, so few of them stay open without a connection: each holds two
    /// descriptors, and clients leave many behind.
    private static func oneAppendTooMany(_ entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.filter { $0.value.connections == 0 && $0.value.multipart.isAppend }
        return deserted.count > mostDesertedAppends ? longestDeserted(of: deserted) : nil
    }

    private static let mostDesertedAppends = 32

    /// Whether a push has worked last on any upload that is neither complete nor given up.
    func areUnfinished(of run: UInt64) -> Bool {
        state.withLock { $0.values.contains { !$0.multipart.isFinished && $0.multipart.run == run } }
    }

    /// Removes an upload from memory, so that its file can be removed.
    ///
    /// - Returns: false if a connection works on it, or has just ended it.
    func forget(_ id: UploadID) -> Bool {
        var leaving: Leaving?
        let mayGo = state.withLock { entries in
            guard let entry = entries[id] else { return true }
            guard entry.connections == 0 else { return false }
            leaving = Leaving(entry.multipart, keepingFrom: .max)
            return leaving != nil
        }
        leaving.map(finish)
        return mayGo
    }

    /// Removes an upload that is published, or whose file is removed.
    func remove(_ multipart: MultipartUpload) {
        let wasHere = state.withLock { entries in
            guard entries[multipart.id]?.multipart === multipart else { return false }
            entries[multipart.id] = nil
            return true
        }
        if wasHere { removed(multipart.id) }
    }

    /// Removes from memory the uploads that had no connection since `moment`, in nanoseconds of the monotonic clock.
    /// Files with a whole block stay.
    package func letGo(desertedUpTo moment: Int64) {
        let leaving = state.withLock { entries in
            entries.values.filter { $0.connections == 0 && $0.deserted <= moment && !$0.multipart.isFinished }
                .compactMap { Leaving($0.multipart, keepingFrom: Self.leastKept) }
        }
        for one in leaving { finish(one) }
    }
}

extension Failure {
    /// The client has ended an upload of which parts are missing.
    static let missingParts = Failure(
        .incomplete, "Parts of the upload are missing; look up which ones, and send them.")

    static let declaredOtherwise = Failure(
        .contentMismatch, "The upload was begun with another size or digest function.")

    /// The client has sent parts in an order that the store cannot take.
    static func outOfOrder(next: UInt64) -> Failure {
        Failure(
            .incomplete,
            "This server accepts the parts of an upload in order only; the next part begins at byte \(next).")
    }

    static let noPieces = Failure(
        .sizeMismatch,
        "The server does not accept pieces of blocks; send whole blocks of 4 MiB, of which only the "
            + "last may be shorter.")

    static let tooManyPieces = Failure(.busy, "The upload has too many pieces of blocks; send whole blocks.")

    static let unreadableBlock = Failure(
        .storageFailed, "The server cannot read the part of the upload that it has stored; send the upload again.")

    static let tooManyMultiparts = Failure(
        .busy, "The server has reached its limit of uploads in parts; try again later.")

    static let tooManyOfOne = Failure(
        .busy, "This client has reached its limit of uploads in parts; complete some first.")

    static let beingCompleted = Failure(.busy, "The upload is just being completed.")
}

extension MultipartUpload {
    /// Bytes of the verified parts.
    package var verified: UInt64 { monitor.withLock { monitor.state.parts.size } }

    /// Whether a thread is opening the content, so that other threads wait for it.
    fileprivate var isOpening: Bool {
        monitor.withLock { if case .opening = monitor.state.place { true } else { false } }
    }
}
