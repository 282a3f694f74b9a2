internal import CLinux
import Glibc
import TransferProtocol
import TransferSystem

/// Counts what is stored and what is on its way, and refuses what would be too much.
///
/// A file counts with its size, as `ls` and `du --apparent-size` show it, and an upload of known size with that from its
/// beginning on, so that uploads that come at the same time can't pass the quota together.
final class Space: Sendable {
    private struct State {
        /// Of files under their names.
        var stored: UInt64 = 0
        /// Of uploads that go with their connection.
        var held: UInt64 = 0
        /// Of uploads whose parts stay.
        var parts: [UploadID: UInt64] = [:]
        var inParts: UInt64 = 0
        /// What was added to and taken from `stored` while it was being counted anew.
        var change: (added: UInt64, removed: UInt64)?
        /// When it may be counted anew, in nanoseconds of the monotonic clock.
        var nextCount: Int64 = 0

        var used: UInt64 { stored.addingClamped(held).addingClamped(inParts) }
    }

    /// Nanoseconds between two countings: each looks at every file.
    private static let countInterval: Int64 = 10_000_000_000

    private let limits: SpaceLimits
    private let tree: DirectoryTree
    private let incoming: DirectoryHandle
    private let state = Locked(State())
    /// Held from the look at what is free to the moment when the upload has its share of it.
    private let reserving = Locked(())

    /// - Parameter incoming: where the parts are.
    init(_ limits: SpaceLimits, tree: DirectoryTree, incoming: DirectoryHandle) throws(SystemError) {
        self.limits = limits
        self.tree = tree
        self.incoming = incoming
        guard limits.quota != nil else { return }
        var parts: [UploadID: UInt64] = [:]
        for name in try incoming.names() {
            guard let id = StagedFile.upload(ofPart: name), let status = try incoming.status(name) else { continue }
            // With what is reserved behind its end.
            parts[id] = UInt64(max(0, status.st_size, status.st_blocks * 512))
        }
        let stored = countStored()
        state.withLock { [parts] state in
            state.stored = stored
            state.parts = parts
            state.inParts = parts.values.reduce(0) { $0.addingClamped($1) }
            state.nextCount = monotonicDeadline(after: Self.countInterval)
        }
    }

    /// Bytes that count against the quota.
    var used: UInt64 { state.withLock { $0.used } }
}

// MARK: The quota

extension Space {
    /// - Throws: `quotaExceeded`; then nothing is taken.
    func hold(_ count: UInt64) throws(StoreError) {
        try add(count) { $0.held += count }
    }

    func release(_ count: UInt64) {
        state.withLock { $0.held -= min($0.held, count) }
    }

    /// Lets the part of an upload have so many bytes in all.
    ///
    /// - Throws: `quotaExceeded`; then it has as many as before.
    func hold(part id: UploadID, upTo size: UInt64) throws(StoreError) {
        let present = state.withLock { $0.parts[id] ?? 0 }
        guard size > present else { return }
        try add(size - present) { state in
            // Only one thread at a time works on the size of a part, and one that came between asked for no less.
            let old = state.parts[id] ?? 0
            guard size > old else { return }
            state.parts[id] = size
            state.inParts = state.inParts.addingClamped(size - old)
        }
    }

    /// Bytes that the part of an upload may have.
    func size(ofPart id: UploadID) -> UInt64 { state.withLock { $0.parts[id] ?? 0 } }

    /// - Parameter left: bytes that it may have from now on.
    func release(part id: UploadID, but left: UInt64 = 0) {
        state.withLock { state in
            guard let size = state.parts.removeValue(forKey: id) else { return }
            state.inParts = state.inParts - min(state.inParts, size) + min(left, size)
            if left > 0 { state.parts[id] = min(left, size) }
        }
    }

    /// A file has its name now, in place of another.
    func stored(_ size: UInt64, replacing old: UInt64) {
        state.withLock { state in
            state.stored = state.stored.addingClamped(size)
            state.stored -= min(state.stored, old)
            state.change?.added += size
            state.change?.removed += old
        }
    }

    private func add(_ count: UInt64, _ take: (inout State) -> Void) throws(StoreError) {
        guard let quota = limits.quota else { return }
        for isLast in [false, true] {
            let room = state.withLock { state -> UInt64? in
                let room = quota - min(quota, state.used)
                guard count > room else {
                    take(&state)
                    return nil
                }
                return room
            }
            guard let room else { return }
            // Somebody may have removed files.
            guard !isLast, countAgain() else {
                throw StoreError(
                    .quotaExceeded,
                    "The server stores \(quota) bytes at most, and of these \(room) are left: files have to be removed "
                        + "there, or --quota raised.")
            }
        }
    }

    /// - Returns: false when that was done just now.
    private func countAgain() -> Bool {
        let isDue = state.withLock { state in
            let now = monotonicNanoseconds()
            guard now >= state.nextCount else { return false }
            state.nextCount = monotonicDeadline(after: Self.countInterval)
            state.change = (0, 0)
            return true
        }
        guard isDue else { return false }
        let stored = countStored()
        state.withLock { state in
            let change = state.change ?? (0, 0)
            // What came meanwhile may be counted twice until the next time: too much is safe.
            state.stored = stored.addingClamped(change.added)
            state.change = nil
        }
        return true
    }

    private func countStored() -> UInt64 {
        var walk = StoredWalk(tree)
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
}

// MARK: What is free

extension Space {
    /// Looks whether so much can be taken from the disk, and lets `body` do it before anybody else looks.
    ///
    /// - Throws: `insufficientStorage`, and what `body` throws.
    func reserve(_ size: UInt64, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        guard limits.minimumFree != nil else { return try body() }
        try reserving.withLock { _ throws(StoreError) in
            try check(room: size)
            try body()
        }
    }

    /// - Parameter size: bytes that are to be taken.
    /// - Throws: `insufficientStorage` when less than the limit would stay free.
    func check(room size: UInt64 = 0) throws(StoreError) {
        guard let least = limits.minimumFree else { return }
        let status = try attempt("look how much is free") { () throws(SystemError) in
            try incoming.disk.room(incoming.number)
        }
        // Without a limit a file system in memory has no blocks (tmpfs(5), size).
        guard status.f_blocks > 0 else { return }
        let (free, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard !overflow, free < least.addingClamped(size) else { return }
        throw StoreError(
            .insufficientStorage,
            "The server keeps \(least) bytes of its disk free, and \(free) are: room has to be made there, or "
                + "--min-free lowered.")
    }
}

extension UInt64 {
    func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
