internal import CLinux
import Glibc
import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// An open file or directory that can be synced, whose descriptor is open for as long as the object lives.
///
/// A committer gets the objects and not their descriptors: the optimizer may release an array of objects before a sync of their
/// descriptors, and another file may have one of the numbers by then.
protocol SyncableFile: AnyObject {
    var number: Int32 { get }
}

/// Makes files and directories durable, many of them together where that is cheaper.
///
/// A single file is synced by itself. For a few files, writing is started for all of them and then each is synced, so
/// that the disk has all content at once. For more there is one syncfs(2), which costs as much as two fsync(2)
/// regardless of the number. It also waits for the writes of other programs, so it is used only while these are few.
/// Otherwise, or if the file system does not report failures through it, several threads sync at once, which journals
/// combine.
final class Committer: Sendable {
    private let durability: Durability
    private let fileSystem: FileSystem
    private let disk: Disk
    /// The device of the file system that `group` syncs.
    private let device: dev_t
    private let group: GroupSync
    let directories: DurableDirectories
    /// Durations of calls to `commit`.
    let durations = DurationHistogram()
    /// Nil if nothing is synced.
    private let mark: SyncMark?
    /// Nil if no other machine can take the directory.
    private let lock: DirectoryLock?
    private let begun = Atomic(0)
    /// Bytes of other programs that a group can wait for in the time that earlier groups have saved.
    private let allowance = Locked<UInt64>(0)

    /// The number of files from which one syncfs(2) is not slower than syncing each. Measured on ext4 with a journal:
    /// twice the time for one file, the same for four, two thirds for twelve.
    static let groupSize = 4

    /// The time that syncfs(2) saves for each file, compared with several threads, in bytes that a disk writes
    /// meanwhile. Measured on ext4: 44 to 80 µs.
    static let savedBytes: UInt64 = 32 << 10

    /// The most bytes of other programs that a group waits for: a quarter of a second for a disk of 256 MB/s.
    static let mostStrangeBytes: UInt64 = 64 << 20

    /// Threads that sync at once, and the number of files for which starting another thread pays.
    private static let threads = 8
    private static let filesPerThread = 4

    /// - Parameters:
    ///   - directory: a directory on `fileSystem`; syncfs(2) uses its descriptor.
    ///   - folder: where the server keeps which directories may not be durable, so that a later process knows it.
    ///   - lock: the lock that must be held for anything to count as durable; nil if no other machine can take it.
    ///   - boot: identifies the present run of the kernel.
    init(
        _ durability: Durability, of directory: DirectoryHandle, on fileSystem: FileSystem,
        doubtsIn folder: DoubtFolder, lock: DirectoryLock? = nil, boot: String? = nil
    ) throws(SystemError) {
        let boot = boot ?? directory.disk.boot
        self.durability = durability
        self.fileSystem = fileSystem
        self.lock = lock
        disk = directory.disk
        device = try directory.disk.status(directory.number).st_dev
        group = GroupSync { () throws(SystemError) in try directory.disk.syncAll(directory.number) }
        let isNeeded = Self.isNeeded(durability, fileSystem)
        mark = isNeeded ? try SyncMark(in: folder, boot: boot) : nil
        directories = DurableDirectories(isNeeded ? try DoubtedList(in: folder, boot: boot) : nil)
    }

    /// Removes the mark of a clean run. To be called when no sync follows.
    func tidy() { mark?.tidy() }

    /// Whether syncs are needed: not in memory, and not with `Durability.none`.
    var isNeeded: Bool { Self.isNeeded(durability, fileSystem) }

    private static func isNeeded(_ durability: Durability, _ fileSystem: FileSystem) -> Bool {
        durability == .commit && !fileSystem.isMemory
    }

    /// The number of failed syncs of the file system. Each staged file keeps the number at the time when it was
    /// created.
    var failures: Int { group.failures }

    /// The number of calls that have reached the disk. A call that fails earlier has lost nothing.
    var syncsBegun: Int { begun.load(ordering: .sequentiallyConsistent) }

    /// Whether any sync has failed, or may have failed before the server was restarted. From then on, files that
    /// existed before may be in memory only, and syncing them would still succeed: the kernel drops lost bytes after it
    /// has reported them once (fsync(2), Notes).
    var isInDoubt: Bool { mark?.isInDoubt ?? false }

    /// The present moment; read it before you read what other programs or uploads have written.
    var moment: Int { mark?.moment ?? 0 }

    /// Whether something that was read at a moment, and synced since, may not be on disk.
    func isInDoubt(about moment: Int) -> Bool { mark?.isInDoubt(about: moment) ?? false }

    /// Starts writing a file's content to the disk, without waiting.
    func start(_ descriptor: Int32) {
        if isNeeded { disk.startWriting(descriptor) }
    }

    /// Syncs files or directories. Do not try again after a failure: the second sync would succeed without the lost
    /// bytes (fsync(2), Notes).
    ///
    /// - Parameters:
    ///   - files: files and directories to sync.
    ///   - bytes: the number of bytes written to them. If it is above 0, all of them were staged on this committer's
    ///     file system; pass 0 for directories and for files that were found.
    ///   - failures: the number of failures before the first byte was written.
    ///   - made: new directories whose names these syncs may cover. If a sync fails, they are in doubt before any
    ///     waiting caller continues. If no sync has begun, because the mark could not be set, nothing is lost: the
    ///     names have yet to be written, and the next sync reports on them.
    /// - Returns: an error for each file; nil if it is durable.
    func commit(
        _ files: [any SyncableFile], bytes: UInt64 = 0, since failures: Int, making made: [RelativePath] = []
    ) -> [SystemError?] {
        defer { withExtendedLifetime(files) {} }
        guard let mark, !files.isEmpty else { return files.map { _ in nil } }
        do throws(SystemError) {
            let number = try mark.begin()
            begun.add(1, ordering: .sequentiallyConsistent)
            let began = monotonicNanoseconds()
            let errors = sync(files.map(\.number), bytes, since: failures)
            durations.add(monotonicNanoseconds() - began)
            let hasFailed = errors.contains { $0 != nil }
            if hasFailed { directories.doubt(made) }
            mark.end(number, hasFailed: hasFailed)
            // If this server has lost the lock, another one may have changed what was synced.
            guard try lock?.isHeld() ?? true else { throw SystemError(errno: ESTALE, call: "flock") }
            return errors
        } catch {
            leaveUnsynced(made)
            return files.map { _ in error }
        }
    }

    /// Notes new directories whose names no sync has covered: the next failing sync may report their loss.
    func leaveUnsynced(_ made: [RelativePath]) {
        guard let mark, !made.isEmpty else { return }
        directories.leaveUnsynced(made)
        // A sync that began meanwhile may have failed before these were noted.
        if mark.isInDoubt(about: mark.moment) { directories.doubt([]) }
    }

    private func sync(_ descriptors: [Int32], _ bytes: UInt64, since failures: Int) -> [SystemError?] {
        guard descriptors.count >= Self.groupSize else { return syncEach(descriptors, bytes, since: failures) }
        // Staged files are on the file system that is synced; found files and directories may be on one that is mounted
        // below.
        guard bytes > 0 || descriptors.allSatisfy(isHere), canSyncAll(descriptors.count, bytes) else {
            return syncInParallel(descriptors, bytes, since: failures)
        }
        return syncAll(descriptors, since: failures)
    }

    private func isHere(_ descriptor: Int32) -> Bool {
        do throws(SystemError) { return try disk.status(descriptor).st_dev == device } catch { return false }
    }

    /// syncfs(2) reports what was lost since its last call. Then each file is checked for losses that it has not
    /// reported yet, which finds losses in parts and files from before this process.
    private func syncAll(_ descriptors: [Int32], since failures: Int) -> [SystemError?] {
        if let error = failure({ () throws(SystemError) in try group.run(since: failures) }) {
            return descriptors.map { _ in error }
        }
        return descriptors.map { descriptor in
            failure { () throws(SystemError) in try disk.checkWritten(descriptor) }
        }
    }

    /// Each file earns the group some time to wait for the bytes of other programs, so in total waiting takes no longer
    /// than what groups save.
    private func canSyncAll(_ count: Int, _ bytes: UInt64) -> Bool {
        guard fileSystem.syncsAsAWhole, let dirty = disk.dirtyBytes else { return false }
        let strange = dirty - min(dirty, bytes)
        return allowance.withLock { allowance in
            allowance = min(allowance + UInt64(count) * Self.savedBytes, Self.mostStrangeBytes)
            guard strange <= allowance else { return false }
            allowance -= strange
            return true
        }
    }

    private func syncEach(_ descriptors: [Int32], _ bytes: UInt64, since failures: Int) -> [SystemError?] {
        start(descriptors, bytes)
        return descriptors.map { descriptor in failure(of: descriptor, since: failures) }
    }

    private func syncInParallel(_ descriptors: [Int32], _ bytes: UInt64, since failures: Int) -> [SystemError?] {
        start(descriptors, bytes)
        let outcomes = Locked([SystemError?](repeating: nil, count: descriptors.count))
        let threads = disk.isSerial ? 1 : min(Self.threads, descriptors.count / Self.filesPerThread)
        inParallel(on: threads, descriptors.count) { index in
            let error = failure(of: descriptors[index], since: failures)
            outcomes.withLock { $0[index] = error }
        }
        return outcomes.withLock { $0 }
    }

    private func start(_ descriptors: [Int32], _ bytes: UInt64) {
        guard descriptors.count > 1, bytes > 0 else { return }
        for descriptor in descriptors { disk.startWriting(descriptor) }
    }

    private func failure(of descriptor: Int32, since failures: Int) -> SystemError? {
        failure { () throws(SystemError) in
            try disk.sync(descriptor)
            try group.check(since: failures)
        }
    }

    private func failure(_ body: () throws(SystemError) -> Void) -> SystemError? {
        do throws(SystemError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
