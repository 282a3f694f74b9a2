import Glibc
import Synchronization
import TransferSystem

/// A file whose name says whether a sync is in flight or has failed.
///
/// The kernel tells of a lost write once, and to one caller. Afterwards its page cache holds bytes, as if they were on
/// disk, that the disk does not have; the next sync succeeds, and whoever compares finds what he expects. The page cache
/// outlives the process, so the doubt must: a server that hangs on a failing disk is killed by its operator and has no
/// time to write anything down. So the mark is set before the first sync begins, and taken away when all that run have
/// succeeded. It needs no sync itself: what a crash of the machine takes, it takes together with the page cache.
///
/// Lock order: its lock is held during a rename, and nothing else is asked for meanwhile.
final class SyncMark: Sendable {
    private struct State {
        /// Syncs in flight, by the order in which they began.
        var running: Set<Int> = []
        var next = 0
        /// The file, as soon as there has been a sync.
        var file: MarkFile?
        /// Whether the file has the name that says so.
        var isSet = false
    }

    private let folder: DoubtFolder
    private let boot: String
    private let monitor = Monitor(State())
    private let doubt: Atomic<Bool>

    /// Reads what was left, and removes what other runs of the kernel have left.
    ///
    /// - Parameter boot: as `BootID` has it.
    init(in folder: DoubtFolder, boot: String) throws(SystemError) {
        self.folder = folder
        self.boot = boot
        doubt = Atomic(
            try folder.openIfThere().map { directory throws(SystemError) in
                try MarkFile.isLeft(in: directory, boot: boot, isShared: folder.isShared)
            } ?? false)
    }

    /// Whether any sync has failed since the kernel was started, or was in flight when its process ended. From then on
    /// what is found may be in memory only.
    var isInDoubt: Bool { doubt.load(ordering: .acquiring) }

    /// The syncs that have begun so far.
    var moment: Int { monitor.withLock { monitor.state.next } }

    /// A sync is about to begin.
    ///
    /// - Returns: to be given to `end`.
    /// - Throws: when the mark cannot be set; then the sync must not begin.
    func begin() throws(SystemError) -> Int {
        monitor.lock()
        defer { monitor.unlock() }
        try set()
        let number = monitor.state.next
        monitor.state.next += 1
        monitor.state.running.insert(number)
        return number
    }

    /// With the lock held.
    private func set() throws(SystemError) {
        guard !monitor.state.isSet, !isInDoubt else { return }
        if try !setAgain() {
            let file = try MarkFile(in: try folder.openOrMake(), boot: boot, isShared: folder.isShared)
            try file.set()
            monitor.state.file = file
        }
        monitor.state.isSet = true
    }

    /// - Returns: false where there is no file yet, or somebody has removed it.
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

    /// The sync is over. Before this returns, nobody who waits for it believes anything that a failure puts in doubt.
    func end(_ number: Int, hasFailed: Bool) {
        monitor.withLock {
            if hasFailed { doubt.store(true, ordering: .releasing) }
            monitor.state.running.remove(number)
            monitor.wakeAll()
            guard monitor.state.running.isEmpty, monitor.state.isSet, !isInDoubt else { return }
            // Where it stays, the next process doubts without need.
            let isTaken: ()? = try? monitor.state.file?.clear()
            monitor.state.isSet = isTaken == nil
        }
    }

    /// Whether there is doubt, once all syncs have ended that had begun before `moment`: one of them may have been told of
    /// bytes that somebody has since found, and have had no time to say so.
    func isInDoubt(about moment: Int) -> Bool {
        monitor.withLock {
            while monitor.state.running.contains(where: { $0 < moment }) { monitor.wait() }
            return isInDoubt
        }
    }

    /// Removes the file, unless it says something. No sync may follow.
    func tidy() {
        monitor.withLock {
            if !monitor.state.isSet { monitor.state.file?.remove() }
            monitor.state.file = nil
        }
    }
}
