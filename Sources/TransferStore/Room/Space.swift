internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// What the server may take of its disk.
final class Space: LimitedSpace {
    /// Counts against `SpaceLimits.quota`; nothing without one.
    let quota: Quota?

    private let limits: Locked<SpaceLimits>
    private let incoming: DirectoryHandle
    private let room: RoomMaker
    /// Held from the look at what is free to the moment when the upload has its share of it.
    private let reserving = Locked(())

    /// - Parameters:
    ///   - incoming: where the parts are.
    ///   - room: makes room where it is missing.
    ///   - clock: nanoseconds of a clock that nobody sets.
    init(
        _ limits: SpaceLimits, tree: DirectoryTree, incoming: DirectoryHandle, room: RoomMaker = RoomMaker(),
        clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) {
        self.limits = Locked(limits)
        (self.incoming, self.room) = (incoming, room)
        quota = limits.quota.map { limit in
            Quota(ofStore: limit, clock: clock) { _ in
                Quota.Count(stored: Self.countStored(tree), parts: Self.countParts(incoming))
            }
        }
        quota?.givesWay { [room] lacking in room.makeRoom(.stored(lacking)) }
        quota?.countOnce()
    }

    /// Holds to other limits from now on, but for a quota where there was none, or none where there was one.
    ///
    /// - Returns: those that hold now.
    func change(_ wanted: SpaceLimits) -> SpaceLimits {
        limits.withLock { limits in
            limits.change(to: wanted)
            if let limit = limits.quota { quota?.change(limit: limit) }
            return limits
        }
    }

    private var minimumFree: UInt64? { limits.withLock { $0.minimumFree } }

    /// Bytes that count against the quota.
    var used: UInt64 { quota?.used ?? 0 }

    private static func countStored(_ tree: DirectoryTree) -> UInt64 {
        count(StoredWalk(tree)).addingClamped(count(StoredWalk(tree, from: .trashFolder))).addingClamped(
            countMail(tree))
    }

    private static func count(_ walk: StoredWalk) -> UInt64 {
        var walk = walk
        var bytes: UInt64 = 0
        while let item = walk.next() {
            switch item {
            case .file(let place): bytes = bytes.addingClamped(place.size)
            case .foreign(_, let size): bytes = bytes.addingClamped(size)
            case .unreadable, .other: break
            }
        }
        return bytes
    }

    /// What is for somebody stands where no walk comes.
    private static func countMail(_ tree: DirectoryTree) -> UInt64 {
        guard let folder = try? tree.open(.mailFolder), let names = try? folder.names() else { return 0 }
        return names.reduce(0) { bytes, name in
            guard let status = try? folder.status(name) else { return bytes }
            return bytes.addingClamped(UInt64(clamping: status.st_size))
        }
    }

    /// - Returns: nothing when that cannot be looked at.
    private static func countParts(_ incoming: DirectoryHandle) -> [UploadID: UInt64]? {
        guard let names = try? incoming.names() else { return nil }
        var parts: [UploadID: UInt64] = [:]
        for name in names {
            guard let id = StagedFile.upload(ofPart: name) ?? StagedFile.upload(ofWithdrawn: name),
                let status = try? incoming.status(name)
            else { continue }
            parts[id] = max(status.sizeOfPart, parts[id] ?? 0)
        }
        return parts
    }
}

extension stat {
    /// Bytes of a part, with what is reserved behind its end.
    var sizeOfPart: UInt64 { max(UInt64(clamping: st_size), space) }
}

// MARK: What is free

extension Space {
    /// Looks whether so much can be taken from the disk, and lets `body` do it before anybody else looks.
    ///
    /// - Throws: `insufficientStorage`, and what `body` throws.
    func reserve(_ size: UInt64, _ body: () throws(Failure) -> Void) throws(Failure) {
        guard minimumFree != nil else { return try body() }
        // What gives way does so without the lock.
        try check(room: size)
        try reserving.withLock { _ throws(Failure) in
            if let refusal = try refusal(room: size) { throw refusal.error }
            try body()
        }
    }

    func check() throws(Failure) { try check(room: 0) }

    /// Looks whether so much can be taken from the disk. What is in the trash gives way to it.
    ///
    /// - Parameter size: bytes that are to be taken.
    /// - Throws: `insufficientStorage` when less than the limit would stay free.
    func check(room size: UInt64) throws(Failure) {
        guard let first = try refusal(room: size) else { return }
        guard room.makeRoom(.disk(first.lacking)) else { throw first.error }
        if let second = try refusal(room: size) { throw second.error }
    }

    /// - Returns: nil where there is room.
    private func refusal(room size: UInt64) throws(Failure) -> (error: Failure, lacking: UInt64)? {
        guard let least = minimumFree else { return nil }
        let status = try attempt("look how much is free") { () throws(SystemError) in
            try incoming.disk.room(incoming.number)
        }
        // Without a limit a file system in memory has no blocks (tmpfs(5), size).
        guard status.f_blocks > 0 else { return nil }
        let (free, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        let wanted = least.addingClamped(size)
        guard !overflow, free < wanted else { return nil }
        return (.tooLittleFree(free, least: least), wanted - free)
    }
}
