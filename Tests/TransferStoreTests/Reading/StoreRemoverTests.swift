import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A removal is acknowledged as durable only after the directory that contained the name was synced.
@Suite struct StoreRemoverTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)

    private let syncs = RecordedSyncs()

    private func remove(_ paths: [String], from fixture: StoreFixture) throws {
        let remover = fixture.store.remover()
        let removals = try paths.map { try remover.begin(try RelativePath($0), isRecursive: true, of: nil) }
        for removal in removals { while try !removal.step(10) {} }
        try remover.commit()
    }

    @Test(arguments: [["a"], ["d/b"], ["d"], ["a", "d/b", "d/c"]])
    func whatStoodThereIsGoneBeforeTheSync(paths: [String]) throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        for path in ["a", "d/b", "d/c"] { try fixture.publish(path, .one) }
        let parents = Set(paths.map { $0.contains("/") ? fixture.path("d") : fixture.root })
        let wanted = Set(parents.compactMap { Files.status($0)?.st_ino })
        let synced = Locked(Set<ino_t>())
        defer { syncs.stopObserving() }
        syncs.observe { [fixture] call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            synced.withLock { _ = $0.insert(status.st_ino) }
            #expect(paths.allSatisfy { Files.status(fixture.path($0)) == nil })
        }
        try remove(paths, from: fixture)
        #expect(synced.withLock { $0 } == wanted)
        #expect(!fixture.store.isInDoubt)
    }

    @Test(arguments: [["a"], ["d"], ["a", "d/b", "d/c"]]) func aSyncThatFailsIsToldOfAll(paths: [String]) throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        for path in ["a", "d/b", "d/c"] { try fixture.publish(path, .one) }
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        let error = #expect(throws: Failure.self) { try remove(paths, from: fixture) }
        #expect(error?.code == .storageFailed)
        #expect(fixture.store.isInDoubt)
        // A second attempt gives no better answer.
        syncs.observe { _ throws(SystemError) in }
        for path in paths {
            let error = #expect(throws: Failure.self) { try remove([path], from: fixture) }
            #expect(error?.code == .notFound)
        }
    }

    /// A client may send any number of removals that are refused.
    @Test func removalsThatFailKeepNoFolderOpen() throws {
        let fixture = try StoreFixture()
        for number in 0..<100 { try fixture.publish("d\(number)/a", .one) }
        let remover = fixture.store.remover()
        let before = Files.descriptors(below: fixture.root).count
        for number in 0..<100 {
            #expect(throws: Failure.self) {
                try remover.begin(try RelativePath("d\(number)/no"), isRecursive: true, of: nil)
            }
            #expect(throws: Failure.self) {
                try remover.begin(try RelativePath("d\(number)/a"), isRecursive: true, of: FileVersion.none)
            }
        }
        #expect(Files.descriptors(below: fixture.root).count <= before + 1 && !remover.isFull)
    }

    /// A file is gone when its removal has begun. If a commit for other removals then fails, the next commit has to
    /// report the failure to the client that removed the file.
    @Test func aCommitForOthersThatFailsIsToldOfWhatHasJustBegun() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        for path in ["a", "b", "c"] { try fixture.publish(path, .one) }
        let remover = fixture.store.remover()
        let first = try remover.begin(try RelativePath("a"), isRecursive: false, of: nil)
        #expect(try first.step(1))
        let second = try remover.begin(try RelativePath("b"), isRecursive: false, of: nil)
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        #expect(throws: Failure.self) { try remover.commit() }
        syncs.observe { _ throws(SystemError) in }
        #expect(try second.step(1))
        #expect(throws: Failure.self) { try remover.commit() }
        let third = try remover.begin(try RelativePath("c"), isRecursive: false, of: nil)
        #expect(try third.step(1))
        try remover.commit()
    }
}
