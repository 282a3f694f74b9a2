import Dispatch
import Glibc
import Synchronization
import Testing
import TransferDatabase
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog
@testable import TransferIntake

/// Changes that clients make beside uploads are complete in the directory and in the catalog, wherever the server is
/// killed.
@Suite struct TreeChangesTests {
    static let batch = TrashBatch(at: 0, number: 7)

    /// Paths of the files stored at first. Each file has its name as content.
    private static let stored = ["a", "b", "c", "d", "e", "f", "k/x", "k/y", "n", "z/x"]

    /// All paths that a file may have before, during or after the changes.
    private static let places = stored + ["m/b", "b2", "h", "z/y", "x"]

    func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    /// Changes of every kind. Some depend on earlier ones, which the server has to make before it looks at the later
    /// ones.
    private func changes() throws -> [TreeChange] {
        let time = Timestamp(seconds: 1_000, nanoseconds: 5)
        let attributes = TreeChange.Attributes(permissions: 0o600, modified: time, extra: nil)
        return [
            .set(try path("a"), attributes), .move(try path("b"), to: try path("m/b"), replaces: false),
            .move(try path("c"), to: try path("e"), replaces: true),
            .hardLink(try path("h"), to: try path("n"), replaces: false, attributes),
            .discard(try path("d"), isRecursive: false), .folder(try path("f"), replaces: true, nil),
            .move(try path("k"), to: try path("z"), replaces: false),
            .move(try path("m/b"), to: try path("b2"), replaces: false),
            .move(try path("z/x"), to: try path("x"), replaces: false),
        ]
    }

    func fill(_ fixture: IntakeFixture) throws {
        let session = fixture.session()
        for name in Self.stored {
            _ = try session.bring(UploadIntent(id: .random(), path: name, size: nil), Array(name.utf8))
        }
        for outcome in session.outcomes() { #expect(outcome.code == .committed) }
        session.leave()
        fixture.intake.known.index()
        // Another program removes a folder behind the server's back, so that a folder can be moved there.
        let lost = fixture.directory.path("store/z")
        #expect(unlink(lost + "/x") == 0)
        #expect(rmdir(lost) == 0)
    }

    private func entries(_ fixture: IntakeFixture, _ path: RelativePath) -> [CatalogEntry] {
        fixture.intake.known.entries(at: [path.string])[0]
    }

    private func content(_ path: String) -> String? { MarkdownDocument.read(path) }

    func perform(
        _ changes: [TreeChange], _ fixture: IntakeFixture, keeps: Bool = false
    ) -> [Result<TreeChange.Done, Failure>] {
        TreeChanges(fixture.intake, fixture.store, keepsReplaced: keeps) { _ in Self.batch }.perform(changes)
    }

    /// Requires that the catalog records exactly the existing files with their versions, as a scrub would check.
    func check(_ fixture: IntakeFixture, _ comment: Comment) throws {
        fixture.intake.known.index()
        let trashed = try Self.stored.map { RelativePath.trash(Self.batch, try path($0)) }
        let places = try Self.places.map(path) + trashed
        var there: [RelativePath: ContentVersion] = [:]
        for place in places { there[place] = fixture.store.version(at: place) }
        var known: [RelativePath: ContentVersion] = [:]
        try fixture.intake.known.records.forEachEntry { entry in
            guard let place = RelativePath(stored: entry.path) else { return }
            known[place] = entry.version
        }
        let lost = try path("z/x")
        if there[lost] == nil, entries(fixture, lost).map(\.digest) == [IntakeFixture.digest(Array("z/x".utf8))] {
            known[lost] = nil
        }
        #expect(known == there, comment)
        #expect(try fixture.intake.known.records.intended().isEmpty, comment)
    }

    @Test(arguments: [false, true]) func allOfItIsMadeAndKnown(keeps: Bool) throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let results = perform(try changes(), fixture, keeps: keeps)
        for result in results { #expect(throws: Never.self) { try result.get() } }
        try check(fixture, "")
        let kept = RelativePath.trash(Self.batch, try path("e"))
        #expect(entries(fixture, kept).map(\.digest) == (keeps ? [IntakeFixture.digest(Array("e".utf8))] : []))
        #expect(fixture.files == ["a", "b2", "e", "f", "h", "m", "n", "x", "z"])
        let entries = fixture.intake.known.entries(at: ["e", "h", "z/y"]).map { $0.map(\.digest) }
        #expect(entries == ["c", "n", "k/y"].map { [IntakeFixture.digest(Array($0.utf8))] })
    }

    /// A folder, a link or a hard link replaces a file.
    @Test(arguments: [false, true]) func whatGivesWayToSomethingElseIsKept(keeps: Bool) throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let changes: [TreeChange] = [
            .folder(try path("a"), replaces: true, nil), .link(try path("b"), to: [0x78], replaces: true, nil),
            .hardLink(try path("e"), to: try path("c"), replaces: true, nil),
        ]
        for result in perform(changes, fixture, keeps: keeps) {
            #expect(try result.get().trash == (keeps ? Self.batch : nil))
        }
        for name in ["a", "b", "e"] {
            let place = RelativePath.trash(Self.batch, try path(name))
            let found = try fixture.store.object(at: place)
            #expect((found?.form == .file) == keeps, "\(name)")
            let digests = keeps ? [IntakeFixture.digest(Array(name.utf8))] : []
            #expect(entries(fixture, place).map(\.digest) == digests, "\(name)")
        }
        try check(fixture, "")
    }

    /// A file that is moved or linked to its own path, or to its other name, is not replaced and stays recorded.
    @Test(arguments: [false, true]) func aFileDoesNotGiveWayToItself(keeps: Bool) throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let link = TreeChange.hardLink(try path("z/e"), to: try path("e"), replaces: true, nil)
        for result in perform([link], fixture, keeps: keeps) { #expect(throws: Never.self) { try result.get() } }
        let before = fixture.store.version(at: try path("e"))
        let changes: [TreeChange] = [
            link, .hardLink(try path("b"), to: try path("b"), replaces: true, nil),
            .move(try path("a"), to: try path("a"), replaces: true),
        ]
        let results = perform(changes, fixture, keeps: keeps)
        #expect(throws: Never.self) { try results[0].get() }
        // This file has only one name.
        #expect(throws: Failure.self) { try results[1].get() }
        #expect(fixture.store.version(at: try path("e")) == before)
        for name in ["a", "b", "e"] {
            let version = fixture.store.version(at: try path(name))
            #expect(entries(fixture, try path(name)).map(\.version) == [version], "\(name)")
        }
        #expect(try fixture.store.trash(below: nil).isEmpty)
    }

    /// The process ends at any call to the disk or the catalog. The next server records each file under the path that
    /// it has.
    @Test(arguments: [false, true]) func aServerThatIsKilledAnywhere(keeps: Bool) throws {
        let changes = try changes()
        var calls = 0
        while true {
            let kill = Kill(after: calls)
            let directory = try TemporaryDirectory(prefersMemory: true)
            let fixture = try IntakeFixture(in: directory, disk: kill.disk, calls: kill.calls)
            try fill(fixture)
            kill.isArmed = true
            let results = perform(changes, fixture, keeps: keeps)
            kill.isArmed = false
            guard kill.hasKilled else { break }
            fixture.end()
            let next = try IntakeFixture(in: directory)
            _ = next.intake.known.resolveIntended(in: next.store)
            try check(next, "killed at call \(calls)")
            let places = [try path("e"), .trash(Self.batch, try path("e")), try path("c")]
            let there = Set(places.compactMap { content(next.directory.path("store/\($0.string)")) })
            #expect(there.contains("c") && (!keeps || there.contains("e")), "killed at call \(calls)")
            // Changes that were reported as made are there.
            for (result, place) in zip(results, ["a", "m/b", "e", "h"]) where (try? result.get()) != nil {
                let isThere = next.store.version(at: try path(place)) != nil
                #expect(isThere || place == "m/b", "killed at call \(calls)")
            }
            calls += 1
        }
        #expect(calls > 50)
    }

    /// A catalog that fails after a change records that change before the server makes the next one.
    @Test func whatTheCatalogWasNotToldIsToldLater() throws {
        let fails = Atomic(false)
        let commits = Atomic(0)
        let calls = DatabaseCalls(failure: { call in
            guard call == .commit, fails.load(ordering: .relaxed) else { return 0 }
            // Writing the note succeeds, and all later commits fail.
            return commits.wrappingAdd(1, ordering: .relaxed).oldValue == 0 ? 0 : 13
        })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), calls: calls)
        try fill(fixture)
        fails.store(true, ordering: .relaxed)
        let first = perform([.move(try path("a"), to: try path("y"), replaces: false)], fixture)
        #expect(throws: Never.self) { try first[0].get() }
        #expect(fixture.intake.known.entries(at: ["y"])[0].isEmpty)
        fails.store(false, ordering: .relaxed)
        let second = perform([.move(try path("y"), to: try path("x"), replaces: false)], fixture)
        #expect(throws: Never.self) { try second[0].get() }
        #expect(fixture.intake.known.entries(at: ["x"])[0].map(\.digest) == [IntakeFixture.digest([0x61])])
        try check(fixture, "told later")
    }

    /// If a sync fails, the client gets an error, and the next server finds out which name the disk has kept.
    @Test func aSyncThatFails() throws {
        let fails = Atomic(false)
        let disk = Disk(interception: { call, body in
            if fails.load(ordering: .relaxed), case .sync = call { return -5 }
            return body()
        })
        let directory = try TemporaryDirectory(prefersMemory: true)
        let system = FileSystem(isMemory: false, syncsAsAWhole: false)
        let fixture = try IntakeFixture(in: directory, disk: disk, fileSystem: system)
        try fill(fixture)
        fails.store(true, ordering: .relaxed)
        let results = perform([.move(try path("a"), to: try path("x"), replaces: false)], fixture)
        let error = #expect(throws: Failure.self) { try results[0].get() }
        #expect(error?.code.class == .server)
        #expect(try fixture.intake.known.records.intended().count == 1)
        fails.store(false, ordering: .relaxed)
        fixture.end()
        let next = try IntakeFixture(in: directory)
        _ = next.intake.known.resolveIntended(in: next.store)
        try check(next, "a sync has failed")
    }

    /// A change whose sync has failed is settled before the server makes other changes to its paths. Otherwise a
    /// restart, which reads the note of the change, would apply it to the file that took the path.
    @Test func whatFollowsASyncThatFails() throws {
        let fails = Atomic(false)
        let disk = Disk(interception: { call, body in
            if fails.load(ordering: .relaxed), case .sync = call { return -5 }
            return body()
        })
        let time = Atomic(Int64(0))
        let clock = IntakeClock(
            monotonic: { time.load(ordering: .relaxed) }, utc: { time.wrappingAdd(1, ordering: .relaxed).newValue })
        let directory = try TemporaryDirectory(prefersMemory: true)
        let system = FileSystem(isMemory: false, syncsAsAWhole: false)
        let fixture = try IntakeFixture(in: directory, disk: disk, fileSystem: system, clock: clock)
        try fill(fixture)
        fails.store(true, ordering: .relaxed)
        let results = perform([.move(try path("a"), to: try path("x"), replaces: false)], fixture)
        #expect(throws: Failure.self) { try results[0].get() }
        // Changes of other paths are accepted. A change of this path is refused until the failed one is settled.
        fails.store(false, ordering: .relaxed)
        let next: [TreeChange] = [
            .move(try path("b"), to: try path("a"), replaces: false), .discard(try path("c"), isRecursive: false),
            .folder(try path("x/y"), replaces: true, nil),
        ]
        #expect(perform(next, fixture).map { (try? $0.get()) != nil } == [false, true, false])
        time.wrappingAdd(2_000_000_000, ordering: .relaxed)
        #expect(throws: Never.self) { try perform([next[0]], fixture)[0].get() }
        #expect(try fixture.intake.known.records.intended().isEmpty)
        fixture.end()
        let restarted = try IntakeFixture(in: directory)
        #expect(restarted.intake.known.resolveIntended(in: restarted.store) == 0)
        restarted.intake.known.index()
        let known = restarted.intake.known.entries(at: ["x", "a", "b"]).map { $0.map(\.digest) }
        #expect(known == [[IntakeFixture.digest([0x61])], [IntakeFixture.digest([0x62])], []])
    }

    /// After a failed sync only the changes of the batch that were not yet synced keep their notes.
    @Test func whatWasSyncedBeforeASyncThatFails() throws {
        let fails = Atomic(false)
        let disk = Disk(interception: { call, body in
            if case .rename(_, "a", _, _, _) = call { fails.store(true, ordering: .relaxed) }
            if fails.load(ordering: .relaxed), case .sync = call { return -5 }
            return body()
        })
        let directory = try TemporaryDirectory(prefersMemory: true)
        let system = FileSystem(isMemory: false, syncsAsAWhole: false)
        let fixture = try IntakeFixture(in: directory, disk: disk, fileSystem: system)
        try fill(fixture)
        // The changes that follow the move of a folder get a sync to themselves.
        let results = perform(
            [
                .move(try path("k"), to: try path("q"), replaces: false),
                .move(try path("a"), to: try path("x"), replaces: false),
                .move(try path("b"), to: try path("y"), replaces: false),
            ], fixture)
        #expect(results.map { (try? $0.get()) != nil } == [true, false, false])
        #expect(try fixture.intake.known.records.intended().compactMap(\.change?.path) == ["a", "b"])
        fixture.intake.known.index()
        #expect(fixture.intake.known.entries(at: ["q/x", "k/x"]).map(\.count) == [1, 0])
    }

    /// A path that is discarded twice is in the trash twice, also if both happen in one batch.
    @Test func whatIsDiscardedTwiceStandsTwiceInTheTrash() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        var number: UInt32 = 0
        let changes = TreeChanges(fixture.intake, fixture.store) { moment in
            number += 1
            return TrashBatch(at: moment, number: number)
        }
        let results = changes.perform([
            .discard(try path("a"), isRecursive: false), .move(try path("b"), to: try path("a"), replaces: false),
            .discard(try path("a"), isRecursive: false), .discard(try path("a"), isRecursive: false),
        ])
        #expect(results.map { (try? $0.get()) != nil } == [true, true, true, false])
        #expect(try fixture.store.trash(below: nil).count == 2)
    }

    /// A file that is moved to its own path keeps its entry and upload ID.
    @Test func aMoveToTheSamePathIsNone() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let before = fixture.intake.known.entries(at: ["a"])[0]
        let results = perform([.move(try path("a"), to: try path("a"), replaces: false)], fixture)
        #expect(throws: Never.self) { try results[0].get() }
        #expect(fixture.intake.known.entries(at: ["a"])[0] == before)
    }

    /// A file is published before a move, and its upload is recorded after the move.
    @Test func whatIsRecordedBehindItsMoveIsFoundThere() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let known = fixture.intake.known
        let moment = known.recentChanges.moment
        let late = known.entries(at: ["k/x", "a", "e", "b"]).map { $0[0] }
        known.forget(late.map { .init($0.path, at: .max) })
        let changes: [TreeChange] = [
            .move(try path("k"), to: try path("q"), replaces: false), .discard(try path("a"), isRecursive: false),
            .move(try path("c"), to: try path("e"), replaces: true),
        ]
        for result in perform(changes, fixture) { #expect(throws: Never.self) { try result.get() } }
        PublishedRecording(known: known, store: fixture.store)
            .record(late, with: nil, since: late.map { _ in moment }, marked: [])
        known.index()
        for (place, content) in [("q/x", "k/x"), ("q/y", "k/y"), ("e", "c"), ("b", "b")] {
            #expect(
                known.entries(at: [place])[0].map(\.digest) == [IntakeFixture.digest(Array(content.utf8))], "\(place)")
            let entry = known.entries(at: [place])[0].first
            #expect(try entry?.version == fixture.store.version(at: path(place)))
        }
        #expect(known.entries(at: ["k/x", "a", "c"]).map(\.count) == [0, 0, 0])
        #expect(entries(fixture, .trash(Self.batch, try path("a"))).count == 1)
        // An upload whose file was moved is stored again if it is sent again under its ID.
        #expect(known.entry(for: late[0].id) == nil && known.entry(for: late[2].id) == nil)
        #expect(known.entry(for: late[3].id) != nil)
    }

    /// Moments at which another client stores a file at a path whose file is being removed.
    enum Storing: CaseIterable {
        case beforeTheLook, inTheLook, behindTheLook
    }

    /// An upload to a path whose file is being removed keeps its record.
    @Test(arguments: Storing.allCases) func whatIsStoredBehindARemovalStaysKnown(_ storing: Storing) throws {
        let store = Locked<(@Sendable () -> Void)?>(nil)
        let disk = Disk(interception: { call, body in
            guard case .status(_, "x") = call else { return body() }
            if storing == .inTheLook { store.withLock { $0.take() }?() }
            let result = body()
            if result == -Int(ENOENT) { store.withLock { $0.take() }?() }
            return result
        })
        let fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true), disk: disk)
        nonisolated(unsafe) let session = fixture.session()
        func intent() -> UploadIntent { UploadIntent(id: .random(), path: "d/x", size: 1) }
        let (first, second) = (intent(), intent())
        #expect(try session.bring(first, [1]) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        let removals = StoredRemovals(fixture.intake, fixture.store)
        let removal = try removals.begin(try path("d/x"), isRecursive: true)
        store.withLock {
            $0 = {
                _ = try? session.bring(second, [2])
                _ = session.outcomes()
            }
        }
        if storing == .beforeTheLook { store.withLock { $0.take() }?() }
        var gone: UInt64 = 0
        #expect(try removals.goOn(removal, gone: &gone))
        #expect(gone == 1 && store.withLock { $0 == nil })
        let known = fixture.intake.known
        known.index()
        #expect(known.entries(at: ["d/x"])[0].map(\.id) == [second.id])
    }

    /// A file gets attributes or a hard link between its publication and its record. The catalog still knows the
    /// upload.
    @Test func whatIsRecordedBehindItsAttributes() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let known = fixture.intake.known
        let moment = known.recentChanges.moment
        let late = known.entries(at: ["a", "b", "c"]).map { $0[0] }
        known.forget(late.map { .init($0.path, at: .max) })
        let attributes = TreeChange.Attributes(
            permissions: 0o600, modified: Timestamp(seconds: 1_000, nanoseconds: 5), extra: nil)
        // A refused move leaves the file and its entry at the old path.
        #expect(throws: Failure.self) {
            try perform([.move(try path("a"), to: try path("e"), replaces: false)], fixture)[0].get()
        }
        let changes: [TreeChange] = [
            .set(try path("a"), attributes), .hardLink(try path("h"), to: try path("b"), replaces: false, nil),
            .set(try path("c"), attributes), .move(try path("c"), to: try path("x"), replaces: false),
        ]
        for result in perform(changes, fixture) { #expect(throws: Never.self) { try result.get() } }
        PublishedRecording(known: known, store: fixture.store)
            .record(late, with: nil, since: late.map { _ in moment }, marked: [])
        known.index()
        for (place, content) in [("a", "a"), ("b", "b"), ("h", "b"), ("x", "c")] {
            let entry = known.entries(at: [place])[0].first
            #expect(entry?.digest == IntakeFixture.digest(Array(content.utf8)), "\(place)")
            #expect(try entry?.version == fixture.store.version(at: path(place)), "\(place)")
        }
        #expect(known.entry(for: late[0].id) != nil && known.entry(for: late[1].id) != nil)
    }

    /// Another file had the same path before, and was moved away before the later file was published.
    @Test func aFileFollowsOnlyTheChangesAfterItsPublication() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let known = fixture.intake.known
        let (session, ids) = (fixture.session(), [UploadID.random(), .random()])
        let attributes = TreeChange.Attributes(
            permissions: nil, modified: Timestamp(seconds: 1_000, nanoseconds: 5), extra: nil)
        let changes: [TreeChange] = [
            .discard(try path("new"), isRecursive: false), .set(try path("new"), attributes),
        ]
        for (id, change) in zip(ids, changes) {
            _ = try session.bring(UploadIntent(id: id, path: "new", size: nil), Array("\(id)".utf8))
            _ = session.publish()
            for result in perform([change], fixture) { #expect(throws: Never.self) { try result.get() } }
        }
        #expect(session.acknowledge().flatMap(\.uploads).allSatisfy { $0.outcome.code == .committed })
        known.index()
        #expect(try known.entry(for: ids[1])?.version == fixture.store.version(at: path("new")))
        session.leave()
    }

    /// While the catalog records the move of a large folder, other requests do not wait.
    @Test func nobodyWaitsForTheRecordOfAMove() throws {
        let asks = Atomic(false)
        let asked = Locked<(@Sendable () -> Void)?>(nil)
        let calls = DatabaseCalls(failure: { call in
            if call == .commit, asks.exchange(false, ordering: .relaxed) { asked.withLock { $0 }?() }
            return 0
        })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), calls: calls)
        try fill(fixture)
        let known = fixture.intake.known
        let isAnswered = Atomic(false)
        asked.withLock { body in
            body = {
                let answer = DispatchSemaphore(value: 0)
                DispatchQueue.global().async {
                    isAnswered.store(known.tellUntold() == nil, ordering: .relaxed)
                    answer.signal()
                }
                #expect(answer.wait(timeout: .now() + 180) == .success)
            }
        }
        let folder = try #require(try fixture.store.object(at: path("k"))).version
        let noted = try known.intend(
            [IntendedChange(.folder, "k", to: "q", before: folder, at: 1)], in: fixture.store)
        asks.store(true, ordering: .relaxed)
        var changes = KnownChanges()
        changes.moves = [PathMove("k", to: "q", at: .max)]
        known.complete(noted, changes)
        let wasAnswered = isAnswered.load(ordering: .relaxed)
        #expect(wasAnswered)
        #expect(known.entries(at: ["q/x"])[0].count == 1)
    }

    /// If the catalog cannot be read at the start, the server settles the changes left by the last one before it makes
    /// its first change.
    @Test func whatCouldNotBeSettledAtTheStartIsBeforeTheFirstChange() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        let first = try IntakeFixture(in: directory)
        try fill(first)
        let folder = try #require(try first.store.object(at: path("k"))).version
        let change = IntendedChange(.folder, "k", to: "q", before: folder, at: first.intake.clock.utc())
        _ = try first.intake.known.intend([change], in: first.store)
        #expect(rename(directory.path("store/k"), directory.path("store/q")) == 0)
        first.end()
        let fails = Atomic(true)
        // SQLITE_BUSY (sqlite.org/rescode.html).
        let calls = DatabaseCalls(failure: { _ in fails.load(ordering: .relaxed) ? 5 : 0 })
        let next = try IntakeFixture(in: directory, calls: calls)
        #expect(next.intake.known.resolveIntended(in: next.store) == 0)
        let wanted: TreeChange = .move(try path("q/x"), to: try path("q/z"), replaces: false)
        #expect(throws: Failure.self) { try perform([wanted], next)[0].get() }
        fails.store(false, ordering: .relaxed)
        #expect(throws: Never.self) { try perform([wanted], next)[0].get() }
        next.intake.known.index()
        #expect(next.intake.known.entries(at: ["q/z", "q/y", "k/x", "k/y", "q/x"]).map(\.count) == [1, 1, 0, 0, 0])
        #expect(try next.intake.known.records.intended().isEmpty)
    }

    @Test func twoClientsDoNotChangeOnePathAtOnce() throws {
        let changing = ChangingPaths()
        let (first, second) = (changing.begin(), changing.begin())
        #expect(changing.take([try path("d/a"), try path("x")], for: first))
        for taken in ["d/a", "d", "d/a/b", "x"] { #expect(!changing.take([try path(taken)], for: second), "\(taken)") }
        for free in ["d/b", "da", "y"] { #expect(changing.take([try path(free)], for: second), "\(free)") }
        changing.end(first)
        #expect(changing.take([try path("d/a")], for: second))
    }
}
