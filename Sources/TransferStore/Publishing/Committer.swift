internal import CLinux
import Glibc
import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// Makes files and directories durable, many of them together where that is cheaper.
///
/// One is synced by itself. A few are started all and then synced one after the other, so that the disk has the content
/// of all at once. For more there is one syncfs(2), which costs as much as two fsync(2) whatever the number: but it also
/// waits for what other programs have written, so it is taken only while that is little. Otherwise, or where the file
/// system does not report failures that way, several threads sync at once, which journals combine.
final class Committer: Sendable {
    private let durability: Durability
    private let fileSystem: FileSystem
    private let disk: Disk
    /// The file system that a sync of all is about.
    private let device: dev_t
    private let group: GroupSync
    let directories: DurableDirectories
    /// How long syncs take.
    let durations = DurationHistogram()
    /// Nothing where nothing is synced.
    private let mark: SyncMark?
    /// Nil where no other machine can take the directory.
    private let lock: DirectoryLock?
    private let begun = Atomic(0)
    /// Bytes of others that a group may wait for, because it has saved as much.
    private let allowance = Locked<UInt64>(0)

    /// Files from which on one syncfs(2) is not slower than starting them all and syncing each. Measured on ext4 with a
    /// journal: twice the time for one, the same for four, two thirds for twelve.
    static let groupSize = 4

    /// What syncfs(2) saves for a file against several threads, in bytes that a disk writes meanwhile. Measured on ext4:
    /// 44 to 80 µs.
    static let savedBytes: UInt64 = 32 << 10

    /// Bytes of others that a group waits for at most; a quarter of a second for a disk of 256 MB/s.
    static let mostStrangeBytes: UInt64 = 64 << 20

    /// Threads that sync at once, and files for each that make up for its start.
    private static let threads = 8
    private static let filesPerThread = 4

    /// - Parameters:
    ///   - directory: on `fileSystem`, whole syncs of which go through its descriptor.
    ///   - folder: where doubt is kept that outlives the process.
    ///   - lock: without which nothing counts as durable; nil where no other machine can take it.
    ///   - boot: the present run of the kernel.
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

    /// Takes away what says that nothing is in doubt. To be called when no sync follows.
    func tidy() { mark?.tidy() }

    /// Whether there is anything to do at all.
    var isNeeded: Bool { Self.isNeeded(durability, fileSystem) }

    private static func isNeeded(_ durability: Durability, _ fileSystem: FileSystem) -> Bool {
        durability == .commit && !fileSystem.isMemory
    }

    /// Syncs of everything that failed so far. What is staged keeps the number of its time.
    var failures: Int { group.failures }

    /// Calls for which anything was asked of the disk. One that fails before has lost nothing.
    var syncsBegun: Int { begun.load(ordering: .sequentiallyConsistent) }

    /// Whether any sync has failed, or may have before the server was started again. From then on what was there before
    /// may be in memory only, and a sync of it would succeed all the same: the kernel gives lost bytes up after it has
    /// told of them once (fsync(2), Notes).
    var isInDoubt: Bool { mark?.isInDoubt ?? false }

    /// To be asked for before something is looked at that others have written.
    var moment: Int { mark?.moment ?? 0 }

    /// Whether what was looked at then, and synced since, may not be on disk.
    func isInDoubt(about moment: Int) -> Bool { mark?.isInDoubt(about: moment) ?? false }

    /// Starts to write what has been written to a file so far.
    func start(_ descriptor: Int32) {
        if isNeeded { disk.startWriting(descriptor) }
    }

    /// Makes files or directories durable. A failure must not be followed by a second attempt, which would succeed
    /// without the lost bytes (fsync(2), Notes).
    ///
    /// - Parameters:
    ///   - descriptors: open until this returns.
    ///   - bytes: written to them. More than 0 says that all of them were staged, on the file system of this committer; 0 is for
    ///     directories and for what was found.
    ///   - failures: as many as there were before the first byte was written.
    ///   - made: new directories whose names this may be about. They are doubted when a sync has failed, before those who wait
    ///     for these syncs go on. Where none has begun, because the mark could not be set, nothing is lost: the names have yet
    ///     to be written, and the next sync tells what becomes of them.
    /// - Returns: for each the error, or nothing when it is durable.
    func commit(
        _ descriptors: [Int32], bytes: UInt64 = 0, since failures: Int, making made: [RelativePath] = []
    ) -> [SystemError?] {
        guard let mark, !descriptors.isEmpty else { return descriptors.map { _ in nil } }
        do throws(SystemError) {
            let number = try mark.begin()
            begun.add(1, ordering: .sequentiallyConsistent)
            let began = monotonicNanoseconds()
            let errors = sync(descriptors, bytes, since: failures)
            durations.add(monotonicNanoseconds() - began)
            let hasFailed = errors.contains { $0 != nil }
            if hasFailed { directories.doubt(made) }
            mark.end(number, hasFailed: hasFailed)
            // Another server may work on what this one has synced.
            guard try lock?.isHeld() ?? true else { throw SystemError(errno: ESTALE, call: "flock") }
            return errors
        } catch {
            leaveUnsynced(made)
            return descriptors.map { _ in error }
        }
    }

    /// Takes note of new directories whose names no sync has been about: the next sync that fails may be told of their loss.
    func leaveUnsynced(_ made: [RelativePath]) {
        guard let mark, !made.isEmpty else { return }
        directories.leaveUnsynced(made)
        // One that has begun meanwhile may have failed before these were noted.
        if mark.isInDoubt(about: mark.moment) { directories.doubt([]) }
    }

    private func sync(_ descriptors: [Int32], _ bytes: UInt64, since failures: Int) -> [SystemError?] {
        guard descriptors.count >= Self.groupSize else { return syncEach(descriptors, bytes, since: failures) }
        // What was staged is where the call is made; what was found, and a directory, can be on a file system mounted below.
        guard bytes > 0 || descriptors.allSatisfy(isHere), canSyncAll(descriptors.count, bytes) else {
            return syncInParallel(descriptors, bytes, since: failures)
        }
        return syncAll(descriptors, since: failures)
    }

    private func isHere(_ descriptor: Int32) -> Bool {
        do throws(SystemError) { return try disk.status(descriptor).st_dev == device } catch { return false }
    }

    /// The file system says what was lost since it was last asked, by whomever; each file, what was lost of it and nobody
    /// was told of. That is about parts and files that were there before this process.
    private func syncAll(_ descriptors: [Int32], since failures: Int) -> [SystemError?] {
        if let error = failure({ () throws(SystemError) in try group.run(since: failures) }) {
            return descriptors.map { _ in error }
        }
        return descriptors.map { descriptor in
            failure { () throws(SystemError) in try disk.checkWritten(descriptor) }
        }
    }

    /// Each file that comes earns some waiting for others' bytes, whether it was needed or not: in the end all of that
    /// waiting takes no longer than what it saves.
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
