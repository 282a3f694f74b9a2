import Glibc
import Synchronization
import TransferSystem

/// A file whose name says whether a sync is in flight or has failed.
///
/// The kernel reports a lost write once, and to one caller. Afterwards its page cache holds bytes, as if they were on
/// disk, that the disk does not have; the next sync succeeds, and a comparison finds equal content. The page cache
/// outlives the process, so the doubt must as well: a server that hangs on a failing disk is killed by its operator and
/// has no time to write anything. So the mark is set before the first sync begins, and removed when all running syncs
/// have succeeded. The mark itself needs no sync: a crash of the machine that loses the mark loses the page cache, too.
///
/// Lock order: the lock is held during a rename, and no other lock is taken meanwhile.
final class SyncMark: Sendable {
    private struct State {
        /// The numbers of the syncs in flight, in the order in which they began.
        var running: Set<Int> = []
        var next = 0
        /// The file; nil before the first sync.
        var file: MarkFile?
        /// Whether the file has its running name.
        var isSet = false
    }

    private let folder: DoubtFolder
    private let boot: String
    private let monitor = Monitor(State())
    private let doubt: Atomic<Bool>

    /// Reads the marks of ended processes, and removes those from before the machine was started.
    ///
    /// - Parameter boot: the boot ID (`BootID`).
    init(in folder: DoubtFolder, boot: String) throws(SystemError) {
        self.folder = folder
        self.boot = boot
        doubt = Atomic(
            try folder.openIfThere().map { directory throws(SystemError) in
                try MarkFile.isLeft(in: directory, boot: boot, isShared: folder.isShared)
            } ?? false)
    }

    /// Whether any sync has failed since the machine was started, or was in flight when its process ended. From then
    /// on, content that is found may be in memory only.
    var isInDoubt: Bool { doubt.load(ordering: .acquiring) }

    /// The number of syncs that have begun so far.
    var moment: Int { monitor.withLock { monitor.state.next } }

    /// Announces a sync.
    ///
    /// - Returns: the number to pass to `end`.
    /// - Throws: if the mark cannot be set; then the sync must not begin.
    func begin() throws(SystemError) -> Int {
        monitor.lock()
        defer { monitor.unlock() }
        try set()
        let number = monitor.state.next
        monitor.state.next += 1
        monitor.state.running.insert(number)
        return number
    }

    /// Sets the mark. The lock is held.
    private func set() throws(SystemError) {
        guard !monitor.state.isSet, !isInDoubt else { return }
        if try !setAgain() {
            let file = try MarkFile(in: try folder.openOrMake(), boot: boot, isShared: folder.isShared)
            try file.set()
            monitor.state.file = file
        }
        monitor.state.isSet = true
    }

    /// - Returns: false if there is no file yet, or another process has removed it.
    private func setAgain() throws(SystemError) -> Bool {
        guard let file = monitor.state.file else { return false }
        do throws(SystemError) {
            try file.set()
            return true
        } catch {
            guard error.errno == ENOENT else { throw error }
            return false
        }
    }

    /// Ends a sync. Its callers must not continue before this has returned, so that they see the doubt after a failure.
    func end(_ number: Int, hasFailed: Bool) {
        monitor.withLock {
            if hasFailed { doubt.store(true, ordering: .releasing) }
            monitor.state.running.remove(number)
            monitor.wakeAll()
            guard monitor.state.running.isEmpty, monitor.state.isSet, !isInDoubt else { return }
            // If the mark stays, the next process is in doubt without need.
            let isTaken: ()? = try? monitor.state.file?.clear()
            monitor.state.isSet = isTaken == nil
        }
    }

    /// Waits for the syncs that began before `moment`, and returns whether there is doubt: one of these syncs may have
    /// received the only report that bytes were lost that the caller has read since.
    func isInDoubt(about moment: Int) -> Bool {
        monitor.withLock {
            while monitor.state.running.contains(where: { $0 < moment }) { monitor.wait() }
            return isInDoubt
        }
    }

    /// Removes the file, unless the mark is set. No sync may follow.
    func tidy() {
        monitor.withLock {
            if !monitor.state.isSet { monitor.state.file?.remove() }
            monitor.state.file = nil
        }
    }
}
