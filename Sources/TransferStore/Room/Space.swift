internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Limits how much of the disk the server uses.
final class Space: LimitedSpace {
    /// Counts against `SpaceLimits.quota`; nil without one.
    let quota: Quota?

    private let limits: Locked<SpaceLimits>
    private let incoming: DirectoryHandle
    private let room: RoomMaker
    /// Held from the check of the free space until the upload has reserved its share.
    private let reserving = Locked(())

    /// - Parameters:
    ///   - incoming: the directory of the parts.
    ///   - room: frees room on the disk when there is too little.
    ///   - clock: monotonic time in nanoseconds.
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

    /// Applies new limits. A quota can be changed, but not added or removed.
    ///
    /// - Returns: the limits in effect.
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

    /// Mail is in a folder that the walks leave out.
    private static func countMail(_ tree: DirectoryTree) -> UInt64 {
        guard let folder = try? tree.open(.mailFolder), let names = try? folder.names() else { return 0 }
        return names.reduce(0) { bytes, name in
            guard let status = try? folder.status(name) else { return bytes }
            return bytes.addingClamped(UInt64(clamping: status.st_size))
        }
    }

    /// - Returns: nil if the directory cannot be read.
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
    /// The size of a part, including the room reserved beyond its end.
    var sizeOfPart: UInt64 { max(UInt64(clamping: st_size), space) }
}

// MARK: What is free

extension Space {
    /// Checks that `size` bytes can be taken from the disk, and calls `body` to reserve them before the next check.
    ///
    /// - Throws: `insufficientStorage`, and the errors of `body`.
    func reserve(_ size: UInt64, _ body: () throws(Failure) -> Void) throws(Failure) {
        guard minimumFree != nil else { return try body() }
        // The trash is emptied without the lock.
        try check(room: size)
        try reserving.withLock { _ throws(Failure) in
            if let refusal = try refusal(room: size) { throw refusal.error }
            try body()
        }
    }

    func check() throws(Failure) { try check(room: 0) }

    /// Checks that `size` bytes can be taken from the disk, and empties the trash for them if needed.
    ///
    /// - Parameter size: the bytes to be taken.
    /// - Throws: `insufficientStorage` if less than the limit would stay free.
    func check(room size: UInt64) throws(Failure) {
        guard let first = try refusal(room: size) else { return }
        guard room.makeRoom(.disk(first.lacking)) else { throw first.error }
        if let second = try refusal(room: size) { throw second.error }
    }

    /// - Returns: nil if there is room.
    private func refusal(room size: UInt64) throws(Failure) -> (error: Failure, lacking: UInt64)? {
        guard let least = minimumFree else { return nil }
        let status = try attempt("determine the free space") { () throws(SystemError) in
            try incoming.disk.room(incoming.number)
        }
        // A tmpfs without a limit reports no blocks (tmpfs(5), size).
        guard status.f_blocks > 0 else { return nil }
        let (free, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        let wanted = least.addingClamped(size)
        guard !overflow, free < wanted else { return nil }
        return (.tooLittleFree(free, least: least), wanted - free)
    }
}
