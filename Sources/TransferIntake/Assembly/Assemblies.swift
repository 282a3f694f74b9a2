package import TransferModel
import TransferStore
import TransferSystem

/// The uploads that arrive in parts, by their ids. An assembly stays for a while when the last connection that worked on
/// it has gone, so that a client that comes back finds what it has sent.
package final class Assemblies: Sendable {
    private struct Entry {
        let assembly: Assembly
        /// Who has begun, or gone on with, what nobody had worked on.
        var accountHolder: AccountHolder
        /// Connections that work on it.
        var connections = 0
        /// When the last of them left, in nanoseconds of the monotonic clock.
        var deserted: Int64 = 0
    }

    private let state = Locked([UploadID: Entry]())
    private let limit: Int
    private let removed: @Sendable (UploadID) -> Void

    /// - Parameters:
    ///   - limit: how many there may be; each holds a descriptor.
    ///   - removed: is told of each that is no longer here, with no lock held; its part may be on the disk.
    init(limit: Int, removed: @escaping @Sendable (UploadID) -> Void = { _ in }) {
        self.limit = max(1, limit)
        self.removed = removed
    }

    package subscript(id: UploadID) -> Assembly? { state.withLock { $0[id]?.assembly } }

    package var isEmpty: Bool { state.withLock { $0.isEmpty } }

    /// Finds or makes the assembly of an upload; the caller holds it until it leaves.
    ///
    /// - Parameters:
    ///   - total: bytes of the upload, if they are known.
    ///   - accountHolder: whose account it counts for.
    ///   - now: nanoseconds of the monotonic clock.
    /// - Throws: `contentMismatch` when the upload was declared differently before; `busy` when it is being completed, when
    ///   somebody works on as many as there may be, or the account holder on more than he leaves to others.
    func enter(
        _ id: UploadID, total: UInt64?, _ function: DigestFunction, accountHolder: AccountHolder, now: Int64
    ) throws(StoreError) -> Assembly {
        var leaving: Leaving?
        defer { leaving.map(finish) }
        let assembly = try state.withLock { (entries) throws(StoreError) in
            if entries[id]?.connections ?? 0 == 0, !Self.leavesEnough(accountHolder, entries, limit) {
                throw .tooManyOfOne
            }
            if entries[id] == nil, entries.count >= limit {
                leaving = Self.longestDeserted(of: entries)
                guard leaving != nil else { throw .tooManyAssemblies }
            }
            var entry =
                entries[id]
                ?? Entry(
                    assembly: Assembly(id: id, total: total, function: function, started: now),
                    accountHolder: accountHolder)
            if entry.connections == 0 { entry.accountHolder = accountHolder }
            // Its file has no other name until it is published: whoever opened it now would write to what is acknowledged.
            guard !entry.assembly.isFinished else { throw .beingCompleted }
            entry.connections += 1
            entries[id] = entry
            return entry.assembly
        }
        // Whoever has its lock may be waiting for the disk, and all others wait for the one above.
        do throws(StoreError) {
            try assembly.check(total: total, function)
            return assembly
        } catch {
            // Meanwhile it may have ended, and another one begun.
            state.withLock { if $0[id]?.assembly === assembly { $0[id]?.connections -= 1 } }
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
        let assembly: Assembly
        let file: (any StagedContent)?
        let keepsFile: Bool

        /// - Parameter least: bytes of content for which the file stays.
        /// - Returns: nothing for one that somebody else has just ended.
        init?(_ assembly: Assembly, keepingFrom least: UInt64) {
            guard let ended = assembly.end() else { return nil }
            self.assembly = assembly
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
        remove(leaving.assembly)
    }

    /// The one that nobody has worked on for longest.
    private static func longestDeserted(of entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.values.filter { $0.connections == 0 && !$0.assembly.isFinished }
        return deserted.min { $0.deserted < $1.deserted }.flatMap { Leaving($0.assembly, keepingFrom: leastKept) }
    }

    /// Bytes of an upload that stay on the disk when it leaves memory: a place there, of which all clients together have
    /// 16,384, costs whoever leaves one as much. Holes cost nothing and do not count.
    private static let leastKept = UInt64(Limits.blockSize)

    /// The caller has gone. If it was the last and left nothing, the file goes as well: otherwise whoever only asks could
    /// fill a disk with promises.
    func leave(_ assembly: Assembly, now: Int64) {
        let leaving = state.withLock { entries -> Leaving? in
            guard var entry = entries[assembly.id], entry.assembly === assembly else { return nil }
            entry.connections -= 1
            entry.deserted = now
            entries[assembly.id] = entry
            guard entry.connections == 0, !assembly.isFinished else { return nil }
            if assembly.isEmpty { return Leaving(assembly, keepingFrom: 1) }
            return assembly.isGrowing ? Self.oneGrowingTooMany(entries) : nil
        }
        leaving.map(finish)
    }

    /// Those that grow are opened again with a few bytes, so few of them stay open when nobody works on them: each holds two
    /// descriptors, and clients leave many behind.
    private static func oneGrowingTooMany(_ entries: [UploadID: Entry]) -> Leaving? {
        let deserted = entries.filter { $0.value.connections == 0 && $0.value.assembly.isGrowing }
        return deserted.count > mostGrowing ? longestDeserted(of: deserted) : nil
    }

    private static let mostGrowing = 32

    /// Whether some that are neither complete nor given up were worked on last by a push.
    func areUnfinished(of run: UInt64) -> Bool {
        state.withLock { $0.values.contains { !$0.assembly.isFinished && $0.assembly.run == run } }
    }

    /// Forgets an upload, so that its file can be removed.
    ///
    /// - Returns: false when somebody works on it, or has just ended it.
    func forget(_ id: UploadID) -> Bool {
        var leaving: Leaving?
        let mayGo = state.withLock { entries in
            guard let entry = entries[id] else { return true }
            guard entry.connections == 0 else { return false }
            leaving = Leaving(entry.assembly, keepingFrom: .max)
            return leaving != nil
        }
        leaving.map(finish)
        return mayGo
    }

    /// It is published, or its file has no name any more.
    func remove(_ assembly: Assembly) {
        let wasHere = state.withLock { entries in
            guard entries[assembly.id]?.assembly === assembly else { return false }
            entries[assembly.id] = nil
            return true
        }
        if wasHere { removed(assembly.id) }
    }

    /// Forgets those that were deserted by `moment`, in nanoseconds of the monotonic clock. Files of those of which a block
    /// has arrived stay.
    package func letGo(desertedUpTo moment: Int64) {
        let leaving = state.withLock { entries in
            entries.values.filter { $0.connections == 0 && $0.deserted <= moment && !$0.assembly.isFinished }
                .compactMap { Leaving($0.assembly, keepingFrom: Self.leastKept) }
        }
        for one in leaving { finish(one) }
    }
}
