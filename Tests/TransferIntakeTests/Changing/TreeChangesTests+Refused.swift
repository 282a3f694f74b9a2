import CLinux
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

/// A refused change changes nothing, neither in the directory nor in the catalog.
extension TreeChangesTests {
    /// If the catalog has no room for the note of a change, the change is not made. Changes that need no note succeed.
    @Test func whatCannotBeNotedIsNotDone() throws {
        let full = Atomic(false)
        // SQLITE_FULL (sqlite.org/rescode.html).
        let calls = DatabaseCalls(failure: { call in call == .commit && full.load(ordering: .relaxed) ? 13 : 0 })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), calls: calls)
        try fill(fixture)
        full.store(true, ordering: .relaxed)
        let wanted: [TreeChange] = [
            .folder(try path("q"), replaces: false, nil), .move(try path("a"), to: try path("q/a"), replaces: false),
            .discard(try path("d"), isRecursive: false),
        ]
        let results = perform(wanted, fixture)
        #expect(throws: Never.self) { try results[0].get() }
        for result in results[1...] {
            let error = #expect(throws: Failure.self) { try result.get() }
            #expect(error?.code == .insufficientStorage)
        }
        full.store(false, ordering: .relaxed)
        try check(fixture, "refused")
        for result in perform(Array(wanted[1...]), fixture) { #expect(throws: Never.self) { try result.get() } }
        #expect(fixture.store.version(at: try path("q/a")) != nil)
        #expect(fixture.store.version(at: try path("a")) == nil)
    }

    /// A refused move changes nothing, and the catalog still knows both files by their IDs.
    @Test func aMoveThatIsRefused() throws {
        let fixture = try IntakeFixture()
        try fill(fixture)
        let known = fixture.intake.known
        let before = known.entries(at: ["a", "b"])
        let rotten = try #require(before[1][0].version)
        known.add(rotten: RottenFile(version: rotten, digest: try #require(before[1][0].digest)))
        let results = perform([.move(try path("a"), to: try path("b"), replaces: false)], fixture)
        #expect(throws: Failure.self) { try results[0].get() }
        #expect(known.entries(at: ["a", "b"]) == before)
        for entry in before.joined() { #expect(known.entry(for: entry.id) == entry) }
        #expect(known.isRotten(rotten))
    }

    /// A link or a folder takes the place of a file between the look at it and the change. The change leaves it alone,
    /// because the note was about another object.
    @Test(arguments: [true, false]) func anotherObjectThanWasLookedAtIsLeft(isLink: Bool) throws {
        let fixture = try IntakeFixture()
        let (path, target) = (try path("a"), try path("b"))
        let attributes = TreeChange.Attributes(permissions: 0o600, modified: nil, extra: nil)
        for change in [
            TreeChange.move(path, to: target, replaces: false), .discard(path, isRecursive: true),
            .set(path, attributes),
        ] {
            let place = fixture.directory.path("store/a")
            #expect(isLink ? symlink("elsewhere", place) == 0 : mkdir(place, 0o755) == 0)
            let trashed = RelativePath.trash(Self.batch, path)
            let planned = try ChangePlan(0, change, trashed: trashed, at: 0, in: fixture.store)
            #expect(isLink ? unlink(place) == 0 : rmdir(place) == 0)
            let session = fixture.session()
            #expect(try session.bring(UploadIntent(id: .random(), path: "a", size: 1), [1]) == nil)
            #expect(session.outcomes().map(\.code) == [.committed])
            let failures = ChangeBatch(fixture.intake.known, fixture.store, for: nil).make([planned]).failures
            #expect(failures.map(\.error.code) == [.busy], "\(change)")
            #expect(fixture.files == ["a"])
            #expect(unlink(place) == 0)
        }
    }

    /// A file that a failed move should have replaced is not in the trash, and the catalog knows it as it is.
    @Test func whatARefusedChangeWouldReplaceIsNotInTheTrash() throws {
        let isFailing = Atomic(false)
        let disk = Disk(interception: { call, body in
            guard case .rename = call, isFailing.load(ordering: .relaxed) else { return body() }
            return Int(-EIO)
        })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), disk: disk)
        try fill(fixture)
        isFailing.store(true, ordering: .relaxed)
        let results = perform([.move(try path("c"), to: try path("e"), replaces: true)], fixture, keeps: true)
        #expect(throws: Failure.self) { try results[0].get() }
        #expect(try fixture.store.trash(below: nil).isEmpty)
        try check(fixture, "refused")
    }

    /// The server fails to set the time of an unrecorded upload. Another program then writes to the file and sets that
    /// time. The server takes it for another file.
    @Test func aTimeThatWasRefusedIsNotTheServers() throws {
        let isFailing = Atomic(false)
        let disk = Disk(interception: { call, body in
            guard case .setTimes = call, isFailing.load(ordering: .relaxed) else { return body() }
            return Int(-EIO)
        })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), disk: disk)
        try fill(fixture)
        let known = fixture.intake.known
        let moment = known.recentChanges.moment
        let late = known.entries(at: ["a"])[0]
        known.forget(late.map { .init($0.path, at: .max) })
        isFailing.store(true, ordering: .relaxed)
        let time = Timestamp(seconds: 1_000, nanoseconds: 5)
        let attributes = TreeChange.Attributes(permissions: nil, modified: time, extra: nil)
        #expect(throws: Failure.self) { try perform([.set(try path("a"), attributes)], fixture)[0].get() }
        let file = open(fixture.directory.path("store/a"), O_WRONLY)
        defer { close(file) }
        let stamp = timespec(tv_sec: 1_000, tv_nsec: 5)
        #expect(pwrite(file, "x", 1, 0) == 1 && futimens(file, [stamp, stamp]) == 0)
        PublishedRecording(known: known, store: fixture.store)
            .record(late, with: nil, since: late.map { _ in moment }, marked: [])
        known.index()
        #expect(known.entries(at: ["a"])[0].map(\.version) == late.map(\.version))
    }
}
