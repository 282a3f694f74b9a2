import Glibc
import TransferSystem

/// The file of a `SyncMark`, which has one of two names.
final class MarkFile: Sendable {
    static let idlePrefix = "sync-idle"
    static let runningPrefix = "sync-running-"

    private let folder: DirectoryHandle
    private let idleName: String
    private let runningName: String
    /// The locked file in a shared folder, by which other processes detect whether this one is alive; nil in an own
    /// folder.
    private let lock: Descriptor?

    /// Creates the file, or takes the existing one.
    ///
    /// - Parameter isShared: whether other processes have their files in the same folder.
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
        // Another process that examines the file locks it for a moment. If it has mistaken this process for a dead one
        // and removed the file, the first rename fails.
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

    /// Whether a process that ended during this boot left a mark file that says that a sync was in flight or had failed. Mark files
    /// of earlier boots are removed.
    static func isLeft(in folder: DirectoryHandle, boot: String, isShared: Bool) throws(SystemError) -> Bool {
        var isLeft = false
        for name in try folder.names() where name.hasPrefix(idlePrefix) || name.hasPrefix(runningPrefix) {
            if isShared, isHeld(name, in: folder) { continue }
            let isOfNow = name.hasPrefix(runningPrefix) && Self.isOfNow(name, boot)
            isLeft = isLeft || isOfNow
            // A file that cannot be removed does no harm: the next process ignores it as well.
            if !isOfNow, isShared || name.hasPrefix(runningPrefix) { try? folder.unlink(name) }
        }
        return isLeft
    }

    /// If either boot ID is unknown, they may be the same.
    private static func isOfNow(_ name: String, _ boot: String) -> Bool {
        boot == BootID.unknown || name.hasPrefix(runningPrefix + boot) || name.hasPrefix(runningPrefix + BootID.unknown)
    }

    private static func isHeld(_ name: String, in folder: DirectoryHandle) -> Bool {
        guard let file = try? folder.openFile(name, flags: O_RDONLY | O_NONBLOCK) else { return false }
        // A shared lock, so that two processes that examine the file at once do not take each other for its owner.
        return flock(file.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
