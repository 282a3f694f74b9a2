package import TransferModel
import TransferPorts
import TransferSystem

/// The uploads that arrive in parts, by their ids. A multipart upload stays for a while when the last connection that worked on
/// it has gone, so that a client that comes back finds what it has sent.
package final class MultipartUploads: Sendable {
    private struct Entry {
        let multipart: MultipartUpload
        /// Who has begun, or gone on with, what nobody had worked on.
        var accountHolder: AccountHolder
        /// Connections that work on it.
        var connections = 0
        /// When the last of them left, in nanoseconds of the monotonic clock.
        var deserted: Int64 = 0
    }

    private let state = Locked([UploadID: Entry]())
    private let limit: Int
    private let records: (any PartRecords)?
    private let removed: @Sendable (UploadID) -> Void

    /// - Parameters:
    ///   - limit: how many there may be; each holds a descriptor.
    ///   - records: the store's; nil where it has none.
    ///   - removed: is told of each that is no longer here, with no lock held; its part may be on the disk.
    init(
        limit: Int, records: (any PartRecords)? = nil, removed: @escaping @Sendable (UploadID) -> Void = { _ in }
    ) {
        self.limit = max(1, limit)
        self.records = records
        self.removed = removed
    }

    package subscript(id: UploadID) -> MultipartUpload? { state.withLock { $0[id]?.multipart } }

    package var isEmpty: Bool { state.withLock { $0.isEmpty } }

    /// Finds or makes the multipart upload of an upload; the caller holds it until it leaves.
    ///
    /// - Parameters:
    ///   - total: bytes of the upload, if they are known.
    ///   - accountHolder: whose account it counts for.
    ///   - now: nanoseconds of the monotonic clock.
    /// - Throws: `contentMismatch` when the upload was declared differently before; `busy` when it is being completed, when
    ///   somebody works on as many as there may be, or the account holder on more than he leaves to others.
    func enter(
        _ id: UploadID, total: UInt64?, _ function: DigestFunction, accountHolder: AccountHolder, now: Int64
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
                        id: id, total: total, function: function, started: now, records: records),
                    accountHolder: accountHolder)
            if entry.connections == 0 { entry.accountHolder = accountHolder }
            // Its file has no other name until it is published: whoever opened it now would write to what is acknowledged.
            guard !entry.multipart.isFinished else { throw .beingCompleted }
            entry.connections += 1
            entries[id] = entry
            return entry.multipart
        }
        // Whoever has its lock may be waiting for the disk, and all others wait for the one above.
        do throws(Failure) {
            try multipart.check(total: total, function)
            return multipart
        } catch {
            // Meanwhile it may have ended, and another one begun.
            state.withLock { if $0[id]?.multipart === multipart { $0[id]?.connections -= 1 } }
            throw error
        }
    }

    /// Whether the account holder may work on one more: on an eighth of all at most, and the last eighth is for those who work on
    /// none yet. Those that nobody works on are left, too.
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

    /// One that nobody enters any more. It has its place until `finish`: whoever came meanwhile would open a file that is
    /// about to go.
    private struct Leaving {
        let multipart: MultipartUpload
        let file: (any StagedContent)?
        let keepsFile: Bool

        /// - Parameter least: bytes of content for which the file stays.
        /// - Returns: nothing for one that somebody else has just ended.
        init?(_ multipart: MultipartUpload, keepingFrom least: UInt64) {
            guard let ended = multipart.end() else { return nil }
            self.multipart = multipart
            keepsFile = ended.brought >= least
            file = ended.file
        }
    }

    /// Asks the disk, so without the lock that all wait for.
    private func finish(_ leaving: Leaving) {
        if let file = leaving.file {
            // What was reserved for the rest is for others until somebody goes on.
            if leaving.keepsFile || !file.isNew { file.giveBackRoom() } else { file.discard() }
        }
        remove(leaving.multipart)
    }

    /// The one that nobody has worked on for longest.
    private static func longestDeserted(of entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.values.filter { $0.connections == 0 && !$0.multipart.isFinished }
        return deserted.min { $0.deserted < $1.deserted }.flatMap { Leaving($0.multipart, keepingFrom: leastKept) }
    }

    /// Bytes of an upload that stay on the disk when it leaves memory: a place there, of which all clients together have
    /// 16,384, costs whoever leaves one as much. Holes cost nothing and do not count.
    private static let leastKept = UInt64(Limits.blockSize)

    /// The caller has gone. If it was the last and left nothing, the file goes as well: otherwise whoever only asks could
    /// fill a disk with promises.
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

    /// Those that grow are opened again with a few bytes, so few of them stay open when nobody works on them: each holds two
    /// descriptors, and clients leave many behind.
    private static func oneAppendTooMany(_ entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.filter { $0.value.connections == 0 && $0.value.multipart.isAppend }
        return deserted.count > mostDesertedAppends ? longestDeserted(of: deserted) : nil
    }

    private static let mostDesertedAppends = 32

    /// Whether some that are neither complete nor given up were worked on last by a push.
    func areUnfinished(of run: UInt64) -> Bool {
        state.withLock { $0.values.contains { !$0.multipart.isFinished && $0.multipart.run == run } }
    }

    /// Forgets an upload, so that its file can be removed.
    ///
    /// - Returns: false when somebody works on it, or has just ended it.
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

    /// It is published, or its file has no name any more.
    func remove(_ multipart: MultipartUpload) {
        let wasHere = state.withLock { entries in
            guard entries[multipart.id]?.multipart === multipart else { return false }
            entries[multipart.id] = nil
            return true
        }
        if wasHere { removed(multipart.id) }
    }

    /// Forgets those that were deserted by `moment`, in nanoseconds of the monotonic clock. Files of those of which a block
    /// has arrived stay.
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
    static let missingParts = Failure(.incomplete, "Parts of the upload are missing; ask what there is of it.")

    static let declaredOtherwise = Failure(
        .contentMismatch, "The upload was declared with another size or digest function before.")

    /// The client has sent parts in an order that the store cannot take.
    static func outOfOrder(next: UInt64) -> Failure {
        Failure(.incomplete, "The parts of an upload are taken in order here; the next one begins at byte \(next).")
    }

    static let noPieces = Failure(
        .sizeMismatch,
        "The server takes no pieces of blocks; send whole blocks of 4 MiB, and a shorter one at the end alone.")

    static let tooManyPieces = Failure(.busy, "The upload has too many pieces of blocks; send whole blocks.")

    static let unreadableBlock = Failure(
        .storageFailed, "What has arrived of the upload cannot be read again; it may be sent again.")

    static let tooManyMultiparts = Failure(.busy, "The server works on as many uploads in parts as it can.")

    static let tooManyOfOne = Failure(
        .busy, "This client works on as many uploads in parts as one may have: others need the rest.")

    static let beingCompleted = Failure(.busy, "The upload is just being completed.")
}
