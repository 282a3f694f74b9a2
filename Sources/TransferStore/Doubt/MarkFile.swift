import Glibc
import TransferSystem

/// The file of a `SyncMark`, under one of two names.
final class MarkFile: Sendable {
    static let idlePrefix = "sync-idle"
    static let runningPrefix = "sync-running-"

    private let folder: DirectoryHandle
    private let idleName: String
    private let runningName: String
    /// Where there are several, locked, so that whoever finds it can tell whether its process lives.
    private let lock: Descriptor?

    /// Makes it, or takes the one that is there.
    ///
    /// - Parameter isShared: whether other processes have theirs in the same folder.
    init(in folder: DirectoryHandle, boot: String, isShared: Bool) throws(SystemError) {
        self.folder = folder
        let suffix = isShared ? "-\(UInt64.random(in: .min ... .max))" : ""
        idleName = Self.idlePrefix + suffix
        runningName = Self.runningPrefix + boot + suffix
        let file = try folder.openFile(idleName, flags: O_RDWR | O_CREAT, mode: 0o600)
        guard isShared else {
            lock = nil
            return
        }
        // Who looks at it holds it for a moment. Somebody may have taken it for a dead one before; then the first rename
        // fails.
        let number = file.number
        try system("flock") { flock(number, LOCK_EX) }
        lock = consume file
    }

    func set() throws(SystemError) {
        try folder.disk.rename(folder.number, idleName, to: (folder.number, runningName))
    }

    func clear() throws(SystemError) {
        try folder.disk.rename(folder.number, runningName, to: (folder.number, idleName))
    }

    func remove() { try? folder.unlink(idleName) }

    /// Whether there is one of a process that has ended, in the present run of the kernel, with a sync in flight or failed.
    /// Those of other runs are removed.
    static func isLeft(in folder: DirectoryHandle, boot: String, isShared: Bool) throws(SystemError) -> Bool {
        var isLeft = false
        for name in try folder.names() where name.hasPrefix(idlePrefix) || name.hasPrefix(runningPrefix) {
            if isShared, isHeld(name, in: folder) { continue }
            let isOfNow = name.hasPrefix(runningPrefix) && Self.isOfNow(name, boot)
            isLeft = isLeft || isOfNow
            // One that cannot be removed says as little to the next process.
            if !isOfNow, isShared || name.hasPrefix(runningPrefix) { try? folder.unlink(name) }
        }
        return isLeft
    }

    /// Where either run is not known they may be the same.
    private static func isOfNow(_ name: String, _ boot: String) -> Bool {
        boot == BootID.unknown || name.hasPrefix(runningPrefix + boot) || name.hasPrefix(runningPrefix + BootID.unknown)
    }

    private static func isHeld(_ name: String, in folder: DirectoryHandle) -> Bool {
        guard let file = try? folder.openFile(name, flags: O_RDONLY | O_NONBLOCK) else { return false }
        // Two that look at the same time do not take each other for its owner.
        return flock(file.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
