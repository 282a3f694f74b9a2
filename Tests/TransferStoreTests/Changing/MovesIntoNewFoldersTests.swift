import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A file that is moved into a folder that is just being made must not depend on the folder's name, which is not
/// durable yet.
@Suite struct MovesIntoNewFoldersTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let disk = FileSystem(isMemory: false, syncsAsAWhole: true)

    private static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)

    /// Ways to move a durable file into a new folder.
    enum Way: CaseIterable {
        case file
        case fileInAFolder
        case folder
        case severalFolders
        case discard
        case restore

        var before: [String] {
            switch self {
            case .file, .severalFolders, .discard: ["c"]
            case .fileInAFolder, .folder: ["d/c"]
            case .restore: []
            }
        }

        fileprivate func moves() throws -> [TreeEditor.Renaming] {
            let trashed = RelativePath.trash(batch, try RelativePath("n/c"))
            return switch self {
            case .file: [(try RelativePath("c"), try RelativePath("m/y"))]
            case .fileInAFolder: [(try RelativePath("d/c"), try RelativePath("d/m/y"))]
            case .folder: [(try RelativePath("d"), try RelativePath("m/d"))]
            case .severalFolders:
                try [("c", "m/y"), ("m/y", "n/o/y"), ("n/o/y", "z")].map {
                    (try RelativePath($0), try RelativePath($1))
                }
            case .discard: [(try RelativePath("c"), .trash(batch, try RelativePath("c")))]
            case .restore: [(trashed, try RelativePath("n/c"))]
            }
        }
    }

    /// A store with one file that is durable at its path.
    private func fixture(_ way: Way, _ script: ScriptedDisk, _ fileSystem: FileSystem) throws -> StoreFixture {
        let fixture = try StoreFixture(fileSystem: fileSystem, script: script)
        for path in way.before { try fixture.publish(path, .one) }
        if case .restore = way {
            try fixture.publish("n/c", .one)
            let editor = fixture.store.editor()
            _ = try editor.move(try RelativePath("n/c"), to: .trash(Self.batch, try RelativePath("n/c")))
            try editor.commit()
            rmdir(fixture.path("n"))
            return try fixture.restarted(on: script.disk)
        }
        return fixture
    }

    /// In every state that a power cut can leave, the file is in a folder that has a name. If the disk loses the name
    /// of a new folder, also because a sync failed, the file still has its old name.
    @Test(arguments: Way.allCases, [nil, 0, 1, 2, 3, 4, 5] as [Int?])
    func aMovedFileIsNeverInAFolderWithoutAName(_ way: Way, failing: Int?) throws {
        for fileSystem in [Self.simpleDisk, Self.disk] {
            let script = ScriptedDisk()
            let fixture = try fixture(way, script, fileSystem)
            script.start(fixture.root)
            if let failing { script.fail(sync: failing, with: EIO) }
            for (path, target) in try way.moves() {
                let editor = fixture.store.editor()
                do {
                    _ = try editor.move(path, to: target)
                    try editor.commit()
                } catch {
                    #expect(failing != nil && error.code == .storageFailed)
                    break
                }
            }
            // A later sync of the folder by another caller changes nothing.
            script.mend()
            let number = open(fixture.root, O_RDONLY | O_CLOEXEC)
            defer { close(number) }
            try script.disk.sync(number)
            let recording = try #require(script.recording)
            for end in 0...recording.effects.count {
                #expect(Self.lost(recording, at: end) == nil, "after \(end) of \(recording.effects)")
            }
        }
    }

    /// A state in which the moved file has a name only in a folder that cannot be reached. A state with neither name of
    /// a rename does not count.
    private static func lost(_ recording: DiskRecording, at end: Int) -> DiskState? {
        var random = SplitMix64(seed: 1)
        let options = CrashOptions(CrashModel(recording: recording), at: end, hidden: hidden(recording), &random)
        let (choices, areAll) = options.choices(1 << 14, &random)
        #expect(areAll)
        let moved = moved(recording)
        return choices.lazy.map(options.state).first { state in
            moved.contains { object in
                let places = state.names.filter { $0.value == object }.map(\.key.directory)
                return !places.isEmpty && !places.contains { reaches($0, state, recording) }
            }
        }
    }

    /// Objects that existed before and received a new name.
    private static func moved(_ recording: DiskRecording) -> Set<DiskRecording.Object> {
        let before = Set(recording.entries.filter { !hidden(recording).contains($0.key.directory) }.values)
        return before.intersection(
            recording.effects.compactMap { effect in
                if case .name(let object, let entry) = effect, !entry.name.hasPrefix("sync-") { object } else { nil }
            })
    }

    private static func reaches(
        _ object: DiskRecording.Object, _ state: DiskState, _ recording: DiskRecording
    ) -> Bool {
        object == recording.root
            || state.names.contains {
                $1 == object && $0.directory != object && reaches($0.directory, state, recording)
            }
    }

    /// The server's own folder except the trash: it has no files that clients have stored.
    private static func hidden(_ recording: DiskRecording) -> Set<DiskRecording.Object> {
        let own = recording.entries[.init(directory: recording.root, name: RelativePath.reservedName)]
        return Set([own.flatMap { recording.entries[.init(directory: $0, name: "incoming")] }].compactMap(\.self))
    }

    // MARK: Costs

    /// Number of syncs that `body` makes.
    private func synced(_ syncs: RecordedSyncs, _ body: () throws -> Void) rethrows -> Int {
        syncs.reset()
        try body()
        return syncs.syncs.count
    }

    @Test func manyMovesIntoOneNewFolderWaitForItOnce() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        for number in 0..<60 { try fixture.publish("\(number)", .one) }
        // One sync of the root for the new folder, and one for the batch.
        let first = try synced(syncs) {
            let editor = fixture.store.editor()
            for number in 0..<60 {
                _ = try editor.move(try RelativePath("\(number)"), to: try RelativePath("m/\(number)"))
            }
            #expect(!editor.isFull)
            try editor.commit()
        }
        #expect(first == 2)
        let later = try synced(syncs) {
            let editor = fixture.store.editor()
            _ = try editor.move(try RelativePath("m/0"), to: try RelativePath("0"))
            _ = try editor.move(try RelativePath("m/1"), to: try RelativePath("m/x"))
            try editor.commit()
        }
        #expect(later == 1)
    }

    /// A batch does not wait for a folder whose name is as durable as the file's name.
    @Test func aFolderThatTheFileIsInIsNotWaitedFor() throws {
        let syncs = RecordedSyncs()
        let first = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        for name in ["m/a", "m/n/b"] { try first.publish(name, .one) }
        let fixture = try first.restarted(on: syncs.disk)
        let count = try synced(syncs) {
            let editor = fixture.store.editor()
            _ = try editor.move(try RelativePath("m/a"), to: try RelativePath("m/x"))
            _ = try editor.move(try RelativePath("m/n/b"), to: try RelativePath("m/y"))
            try editor.commit()
        }
        #expect(count == 1)
    }

    @Test func foldersThatArePreparedAreWaitedForTogether() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.disk, syncs: syncs)
        for number in 0..<128 { try fixture.publish("\(number)", .one) }
        let moves = try (0..<128).map { number -> TreeEditor.Renaming in
            (try RelativePath("\(number)"), try RelativePath("m/\(number)/a"))
        }
        let count = try synced(syncs) {
            var editor = fixture.store.editor()
            editor.prepare(moves)
            for (path, target) in moves {
                if editor.isFull {
                    try editor.commit()
                    editor = fixture.store.editor()
                }
                _ = try editor.move(path, to: target)
            }
            try editor.commit()
        }
        #expect(count < 16)
        #expect(Files.names(fixture.path("m")).count == 128 && Files.names(fixture.path("m/7")) == ["a"])
    }

    /// A folder that another change of the batch makes or moves is not prepared before that change.
    @Test func whatOtherChangesMakeIsNotPrepared() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: RecordedSyncs())
        for name in ["d/a", "x", "y"] { try fixture.publish(name, .one) }
        let moves: [TreeEditor.Renaming] = [
            (try RelativePath("d"), try RelativePath("e")), (try RelativePath("x"), try RelativePath("e/n/x")),
            (try RelativePath("y"), try RelativePath("p/n/y")), (try RelativePath("y"), try RelativePath("d/n/y")),
        ]
        let editor = fixture.store.editor()
        editor.prepare(moves, beside: [try RelativePath("p")])
        #expect(fixture.visible == ["d/", "d/a", "x", "y"])
    }

    // MARK: Failures

    /// The kernel reports the failure only once, so no other change of the batch may be acknowledged as durable.
    @Test func anEarlySyncThatFailsCountsForTheWholeBatch() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(
            fileSystem: Self.simpleDisk, script: script, before: ["a": .one, "c": .two, "e": .six])
        let editor = fixture.store.editor()
        _ = try editor.move(try RelativePath("a"), to: try RelativePath("b"))
        script.start(fixture.root)
        script.fail(sync: 0, with: EIO)
        let error = #expect(throws: Failure.self) {
            try editor.move(try RelativePath("c"), to: try RelativePath("m/y"))
        }
        #expect(error?.code == .storageFailed && editor.isFull)
        #expect(throws: Failure.self) { try editor.commit() }
        #expect(fixture.visible == ["b", "c", "e", "m/"] && fixture.store.isInDoubt)
        // The folder refuses files, also after a restart.
        for store in [fixture.store, try fixture.restarted(on: script.disk).store] {
            let later = store.editor()
            #expect(throws: Failure.self) { try later.move(try RelativePath("e"), to: try RelativePath("m/e")) }
            #expect(!store.confirmNames(of: [try RelativePath("m/y")]))
            #expect(store.confirmNames(of: [try RelativePath("c"), try RelativePath("b")]))
        }
        TemporaryDirectory.remove(fixture.path("m"))
        #expect(fixture.store.confirmNames(of: [try RelativePath("m/y")]))
    }

    /// If the mark cannot be written before the sync, the file stays at its old path.
    @Test func withoutTheMarkNothingIsMoved() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: RecordedSyncs())
        try Files.write(.one, to: fixture.path("c"))
        try Files.makeDirectory(fixture.path(".transfer/sync-idle"))
        let editor = fixture.store.editor()
        #expect(throws: Failure.self) { try editor.move(try RelativePath("c"), to: try RelativePath("m/y")) }
        #expect(throws: Failure.self) { try editor.commit() }
        #expect(fixture.visible == ["c", "m/"] && !fixture.store.isInDoubt)
        rmdir(fixture.path(".transfer/sync-idle"))
        let later = fixture.store.editor()
        _ = try later.move(try RelativePath("c"), to: try RelativePath("m/y"))
        try later.commit()
        #expect(fixture.visible == ["m/", "m/y"])
    }

    /// Another batch makes a folder and has not synced it yet. A sync that fails before the first move fails the whole
    /// batch: the kernel has reported the loss, and the next sync of the name would succeed.
    @Test func aSyncThatFailsAheadOfTheMoves() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script, before: ["a": .one])
        let other = fixture.store.editor()
        try other.makeDirectory(try RelativePath("d"))
        script.start(fixture.root)
        script.fail(sync: 0, with: EIO)
        let editor = fixture.store.editor()
        editor.prepare([(try RelativePath("a"), try RelativePath("d/a"))])
        #expect(script.failed == ["sync"])
        #expect(throws: Failure.self) {
            _ = try editor.move(try RelativePath("a"), to: try RelativePath("d/a"))
            try editor.commit()
        }
        #expect(fixture.visible == ["a", "d/"])
    }
}
