import Glibc
import Testing
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct CommitterTests {
    private let syncs = RecordedSyncs()
    private let directory: DirectoryHandle
    private let temporary: TemporaryDirectory

    private static let disk = FileSystem(isMemory: false, syncsAsAWhole: true)
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let memory = FileSystem(isMemory: true, syncsAsAWhole: false)

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try DirectoryHandle(path: temporary.path, on: syncs.disk)
    }

    private func committer(_ fileSystem: FileSystem, _ durability: Durability = .commit) throws -> Committer {
        try Committer(durability, of: directory, on: fileSystem, doubtsIn: .own(directory))
    }

    private func numbers(_ count: Int) -> [Int32] { (0..<Int32(count)).map { 1000 + $0 } }

    /// Descriptors on the file system that the committer syncs.
    private func here(_ count: Int) -> [Int32] { Array(repeating: directory.number, count: count) }

    @Test(arguments: [disk, simpleDisk]) func nothing(fileSystem: FileSystem) throws {
        #expect(try committer(fileSystem).commit([], since: 0) == [])
        #expect(syncs.all.isEmpty)
    }

    @Test(arguments: [disk, simpleDisk]) func oneIsJustSynced(fileSystem: FileSystem) throws {
        #expect(try committer(fileSystem).commit([7], since: 0) == [nil])
        #expect(syncs.all == [.file(7)])
    }

    @Test(arguments: 2..<Committer.groupSize) func aFewAreAllStartedFirst(count: Int) throws {
        let numbers = numbers(count)
        #expect(try committer(Self.disk).commit(numbers, bytes: 1, since: 0) == numbers.map { _ in nil })
        #expect(syncs.all == numbers.map { .start($0) } + numbers.map { .file($0) })
        // Without written bytes there is no write to start.
        syncs.reset()
        #expect(try committer(Self.disk).commit(numbers, since: 0) == numbers.map { _ in nil })
        #expect(syncs.all == numbers.map { .file($0) })
    }

    /// All groups use one descriptor: another descriptor would report old failures, or miss new ones.
    @Test(arguments: [Committer.groupSize, 256]) func manyAreOneCall(count: Int) throws {
        let committer = try committer(Self.disk)
        for _ in 0..<2 { #expect(committer.commit(here(count), since: 0) == here(count).map { _ in nil }) }
        #expect(syncs.all == [.fileSystem(directory.number), .fileSystem(directory.number)])
    }

    @Test(arguments: [(simpleDisk, 0), (disk, nil), (disk, 1 << 30)] as [(FileSystem, UInt64?)])
    func manyEachByItself(_ fileSystem: FileSystem, dirty: UInt64?) throws {
        syncs.setDirty(dirty)
        let numbers = numbers(100)
        #expect(try committer(fileSystem).commit(numbers, bytes: 1, since: 0) == numbers.map { _ in nil })
        #expect(syncs.all.prefix(100) == numbers.map { .start($0) }[...])
        #expect(syncs.syncs.count == 100)
        #expect(Set(syncs.syncs) == Set(numbers.map { .file($0) }))
    }

    /// An existing file or a directory can be on a file system that is mounted below the store. A sync of the store's
    /// file system does not cover it.
    @Test func manyThatAreElsewhere() throws {
        let elsewhere = try DirectoryHandle(path: "/proc", on: syncs.disk)
        let descriptors = here(Committer.groupSize) + [elsewhere.number]
        #expect(try committer(Self.disk).commit(descriptors, since: 0) == descriptors.map { _ in nil })
        #expect(Set(syncs.all) == Set(descriptors.map { .file($0) }))
    }

    /// The batch's own bytes, and a limited number of other bytes, do not rule out a sync of the whole file system.
    @Test(
        arguments: [
            (0, 0, true), (10 << 20, 10 << 20, true), (10 * Committer.savedBytes, 0, true),
            (10 * Committer.savedBytes + 1, 0, false), (10 * Committer.savedBytes + 1, 1, true), (0, .max, true),
            (.max, .max, true), (.max, 0, false),
        ] as [(UInt64, UInt64, Bool)])
    func howMuchMayWait(dirty: UInt64, bytes: UInt64, isGroup: Bool) throws {
        syncs.setDirty(dirty)
        _ = try committer(Self.disk).commit(here(10), bytes: bytes, since: 0)
        #expect(syncs.all.contains(.fileSystem(directory.number)) == isGroup)
    }

    /// Each small batch earns some time to wait; several together earn one sync of the whole file system.
    @Test func waitingIsEarned() throws {
        let committer = try committer(Self.disk)
        func isGroup() -> Bool {
            syncs.reset()
            _ = committer.commit(here(10), since: 0)
            return syncs.all.contains(.fileSystem(directory.number))
        }
        syncs.setDirty(35 * Committer.savedBytes)
        #expect((0..<8).map { _ in isGroup() } == [false, false, false, true, false, false, true, false])
        // The earned time has a limit that no client notices.
        syncs.setDirty(Committer.mostStrangeBytes + 1)
        for _ in 0..<1000 { #expect(!isGroup()) }
        syncs.setDirty(Committer.mostStrangeBytes)
        #expect(isGroup() && !isGroup())
    }

    @Test(arguments: [(memory, .commit), (disk, .none), (simpleDisk, .none)] as [(FileSystem, Durability)])
    func nothingIsNeeded(_ fileSystem: FileSystem, durability: Durability) throws {
        let committer = try committer(fileSystem, durability)
        committer.start(3)
        for count in [1, 3, 100] {
            #expect(committer.commit(numbers(count), since: 0) == numbers(count).map { _ in nil })
        }
        #expect(syncs.all.isEmpty)
    }

    /// A failure concerns only its file, and no file is synced twice.
    @Test(arguments: [1, 3, 100]) func failuresOfSome(count: Int) throws {
        syncs.observe { call throws(SystemError) in
            if case .file(let number) = call, number % 3 == 1 { throw RecordedSyncs.failure }
        }
        let numbers = numbers(count)
        let outcomes = try committer(Self.simpleDisk).commit(numbers, since: 0)
        #expect(outcomes.map { $0?.errno } == numbers.map { $0 % 3 == 1 ? EIO : nil })
        #expect(syncs.syncs.count == count)
    }

    @Test func aFailureOfAllIsEveryones() throws {
        syncs.observe { call throws(SystemError) in if case .fileSystem = call { throw RecordedSyncs.failure } }
        let committer = try committer(Self.disk)
        let failure = SystemError(errno: EIO, call: "syncfs")
        #expect(committer.commit(here(20), since: 0) == here(20).map { _ in failure })
        #expect(syncs.all == [.fileSystem(directory.number)])
        #expect(committer.failures == 1)
        // The failure also applies to files that were staged before and committed later, one by one or together, but
        // not to new ones.
        syncs.observe { _ throws(SystemError) in }
        for count in [1, 3, 20] {
            #expect(committer.commit(here(count), since: 0) == here(count).map { _ in failure })
            #expect(committer.commit(here(count), since: 1) == here(count).map { _ in nil })
        }
    }
}

private final class NumberedFile: SyncableFile {
    let number: Int32

    init(_ number: Int32) { self.number = number }
}

extension Committer {
    fileprivate func commit(_ numbers: [Int32], bytes: UInt64 = 0, since failures: Int) -> [SystemError?] {
        commit(numbers.map(NumberedFile.init), bytes: bytes, since: failures)
    }
}
