import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The order of the syncs shows that content becomes durable first, then names, then directories.
@Suite struct CommitOrderTests {
    private static let disk = FileSystem(isMemory: false, syncsAsAWhole: true)
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)

    /// The kind of object that a descriptor refers to.
    private enum Subject: Equatable {
        case content
        case directory
        case fileSystem
    }

    private static func subject(_ call: RecordedSyncs.Call) -> Subject? {
        switch call {
        case .start: return nil
        case .fileSystem: return .fileSystem
        case .file(let number):
            var status = stat()
            fstat(number, &status)
            return status.st_mode & S_IFMT == S_IFDIR ? .directory : .content
        }
    }

    private func publications(_ fixture: StoreFixture, _ count: Int) throws -> [Publication] {
        try (0..<count).map {
            try fixture.publication("new\($0 % 2)/\($0)", [UInt8](text: "content \($0)"), asPart: $0 % 2 == 0)
        }
    }

    @Test(arguments: [disk, simpleDisk], [1, 3, 30])
    func contentThenNamesThenDirectories(fileSystem: FileSystem, count: Int) throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: fileSystem, syncs: syncs)
        let batch = try publications(fixture, count)
        let expected = Set(batch.map(\.path.string))
        syncs.reset()
        let seen = Locked([(Subject, Set<String>)]())
        syncs.observe { [root = fixture.root] call throws(SystemError) in
            guard let subject = Self.subject(call) else { return }
            let names = Files.tree(root).filter { !$0.hasPrefix(".") && !$0.hasSuffix("/") }
            seen.withLock { $0.append((subject, names)) }
        }
        #expect(fixture.publish(batch) == batch.map { .success(.committed($0.path)) })
        let events = seen.withLock { $0 }
        let isGroup = fileSystem == Self.disk && count >= Committer.groupSize
        let contents = events.prefix { $0.0 != .directory }
        #expect(contents.map(\.0) == (isGroup ? [.fileSystem] : batch.map { _ in .content }))
        #expect(contents.allSatisfy { $0.1.isEmpty })
        let directories = events.dropFirst(contents.count)
        // The batch syncs the directories that it made, and the root, which has their names.
        #expect(directories.map(\.0) == [Subject](repeating: .directory, count: 1 + min(2, count)))
        #expect(directories.allSatisfy { $0.1 == expected })
    }

    /// Many directories are synced together as well.
    @Test func manyDirectories() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        let batch = try (0..<40).map { try fixture.publication("d\($0)/a", .one) }
        syncs.reset()
        #expect(fixture.publish(batch) == batch.map { .success(.committed($0.path)) })
        #expect(syncs.all.count == 2)
        #expect(syncs.all.allSatisfy { if case .fileSystem = $0 { true } else { false } })
    }

    @Test(arguments: [1, 3, 30], [disk, simpleDisk])
    func withoutContentThereIsNoName(count: Int, fileSystem: FileSystem) throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: fileSystem, syncs: syncs)
        let batch = try publications(fixture, count)
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        for outcome in fixture.publish(batch) {
            let error = #expect(throws: Failure.self) { try outcome.get() }
            #expect(error?.code == .storageFailed)
        }
        #expect(fixture.visible.isEmpty)
    }

    @Test func onlyThatOne() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let batch = try publications(fixture, 30)
        let bad = batch[17].staged.number
        syncs.observe { call throws(SystemError) in if call == .file(bad) { throw RecordedSyncs.failure } }
        let outcomes = fixture.publish(batch)
        for (index, outcome) in outcomes.enumerated() {
            if index == 17 { #expect(throws: Failure.self) { try outcome.get() } } else { _ = try outcome.get() }
        }
        #expect(fixture.visible.count { !$0.hasSuffix("/") } == 29)
    }

    @Test(arguments: [1, 3, 30]) func aDirectoryThatFailsIsEverybodys(count: Int) throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        for name in ["new0", "new1"] { try Files.makeDirectory(fixture.path(name)) }
        let batch = try publications(fixture, count)
        syncs.observe { call throws(SystemError) in
            if Self.subject(call) == .directory { throw RecordedSyncs.failure }
        }
        for outcome in fixture.publish(batch) { #expect(throws: Failure.self) { try outcome.get() } }
        // A retry does not rely on the first attempt: files have new bytes and new names, and directories are synced
        // again, also existing ones.
        let subjects = Locked([Subject]())
        syncs.observe { call throws(SystemError) in
            if let subject = Self.subject(call) { subjects.withLock { $0.append(subject) } }
        }
        let again = try publications(fixture, count)
        #expect(fixture.publish(again) == again.map { .success(.committed($0.path)) })
        #expect(subjects.withLock { $0.count { $0 == .directory } } == 1 + min(2, count))
        #expect(fixture.visible.count { !$0.hasSuffix("/") } == count)
    }

    /// A failed sync of the file system for one batch may have reported the bytes of another.
    @Test func whatWasStagedBeforeAFailureFails() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        let before = try fixture.publication("before", .one)
        let batch = try publications(fixture, 30)
        syncs.observe { call throws(SystemError) in if case .fileSystem = call { throw RecordedSyncs.failure } }
        #expect(fixture.publish(batch).allSatisfy { if case .failure = $0 { true } else { false } })
        syncs.observe { _ throws(SystemError) in }
        #expect(throws: Failure.self) { try fixture.publish([before])[0].get() }
        #expect(fixture.visible.isEmpty)
        #expect(try fixture.publish("after", .one) == .committed("after"))
    }

    /// The process that wrote an existing file has not necessarily synced it.
    @Test(arguments: [1, 3, 30, 150]) func whatIsThereIsMadeDurable(count: Int) throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        for number in 0..<count { try Files.write(.six, to: fixture.path("\(number)")) }
        let inodes = Set((0..<count).compactMap { Files.status(fixture.path("\($0)"))?.st_ino })
        let batch = try (0..<count).map { try fixture.publication("\($0)", .six) }
        let synced = Locked(Set<ino_t>())
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            synced.withLock { _ = $0.insert(status.st_ino) }
        }
        #expect(fixture.publish(batch) == batch.map { .success(.alreadyStored($0.path)) })
        #expect(synced.withLock { $0 }.isSuperset(of: inodes))
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            if status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 0, inodes.contains(status.st_ino) {
                throw RecordedSyncs.failure
            }
        }
        let again = try (0..<count).map { try fixture.publication("\($0)", .six) }
        #expect(fixture.publish(again).allSatisfy { if case .failure = $0 { true } else { false } })
    }

    @Test func withoutDurabilityNothingIsSynced() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(.none, fileSystem: Self.disk, syncs: syncs)
        let batch = try publications(fixture, 30)
        #expect(fixture.publish(batch) == batch.map { .success(.committed($0.path)) })
        let again = try publications(fixture, 3)
        #expect(fixture.publish(again) == again.map { .success(.alreadyStored($0.path)) })
        let long = try fixture.publication("long", [UInt8](repeating: 1, count: Int(StagedFile.writeBackStep) * 2))
        #expect(fixture.publish([long]) == [.success(.committed(long.path))])
        #expect(syncs.all.isEmpty)
    }
}
