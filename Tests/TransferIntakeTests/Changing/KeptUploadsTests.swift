import Glibc
import Synchronization
import Testing
import TransferAccess
import TransferCatalog
import TransferDatabase
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// The catalog records a replaced file at its place in the trash. The file counts for the client that stored it, and a
/// lookup by digest finds it.
@Suite struct KeptUploadsTests {
    private let old = Array("old".utf8)
    private let new = Array("newer".utf8)

    private static func batch(_ number: UInt32) -> TrashBatch { TrashBatch(at: 0, number: number) }

    private static func part() -> OpenTrashBatch {
        let count = Atomic<UInt32>(0)
        return OpenTrashBatch(utc: { 0 }) { _ in batch(count.wrappingAdd(1, ordering: .relaxed).newValue) }
    }

    private func intent(_ path: String, _ content: [UInt8]) -> UploadIntent {
        UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: .overwrite)
    }

    private func session(_ fixture: IntakeFixture, of name: String? = nil) -> IntakeSession {
        let session = name.map { fixture.session(of: $0) } ?? fixture.session()
        session.trash = Self.part()
        return session
    }

    private func upload(_ path: String, _ content: [UInt8], _ session: IntakeSession) throws -> UploadOutcome? {
        try session.bring(intent(path, content), content) ?? session.outcomes().first
    }

    private func place(_ path: String, _ number: UInt32 = 1) throws -> RelativePath {
        .trash(Self.batch(number), try RelativePath(path))
    }

    /// Digests that the catalog has for the file that is at a path now.
    private func digests(_ fixture: IntakeFixture, _ path: RelativePath) -> [Digest?] {
        fixture.intake.known.index()
        let version = fixture.store.version(at: path)
        return fixture.intake.known.entries(at: [path.string])[0].filter { $0.version == version }.map(\.digest)
    }

    @Test(arguments: ["a", "d/e"]) func itIsKnownWhereItIsKept(_ path: String) throws {
        let fixture = try IntakeFixture()
        let session = session(fixture)
        let first = intent(path, old)
        _ = try session.bring(first, old)
        #expect(session.outcomes().map(\.code) == [.committed])
        guard case .acknowledged(let acknowledgement)? = try upload(path, new, session) else {
            Issue.record("nothing was stored")
            return
        }
        #expect(acknowledgement.replaced == .other && acknowledgement.trash == Self.batch(1))
        #expect(try digests(fixture, place(path)) == [IntakeFixture.digest(old)])
        #expect(try digests(fixture, RelativePath(path)) == [IntakeFixture.digest(new)])
        // Sending the first upload once more stores it again, because its ID no longer stands for the file at the path.
        #expect(fixture.intake.known.entries(at: [path]).joined().allSatisfy { $0.id != first.id })
        #expect(try session.bring(first, old) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        #expect(try digests(fixture, place(path, 2)) == [IntakeFixture.digest(new)])
    }

    /// A hard link to a replaced file is moved back to the file's old path. An upload of that content is then already
    /// stored, and the catalog records it there.
    @Test func whatHasItsPathAgainIsKnownThere() throws {
        let fixture = try IntakeFixture()
        let session = session(fixture)
        _ = try upload("a", old, session)
        func perform(_ change: TreeChange) throws {
            _ = try TreeChanges(fixture.intake, fixture.store, keepsReplaced: false) { _ in Self.batch(9) }
                .perform([change])[0].get()
        }
        let (a, b) = (try RelativePath("a"), try RelativePath("b"))
        try perform(.hardLink(b, to: a, replaces: false, nil))
        _ = try upload("a", new, session)
        #expect(try digests(fixture, place("a")) == [IntakeFixture.digest(old)])
        try perform(.move(b, to: a, replaces: true))
        let again = intent("a", old)
        #expect(try session.bring(again, old) == nil)
        #expect(session.outcomes().map(\.code) == [.alreadyStored])
        fixture.intake.known.index()
        #expect(fixture.intake.known.entries(at: ["a"])[0].map(\.id).contains(again.id))
        #expect(digests(fixture, a).contains(IntakeFixture.digest(old)))
    }

    /// Another connection replaces a file before the first connection acknowledges the upload.
    @Test(arguments: [true, false]) func whatIsReplacedBeforeItsRecordIsKnown(isFirst: Bool) throws {
        let fixture = try IntakeFixture()
        let (one, two) = (session(fixture), session(fixture))
        #expect(try one.bring(intent("a", old), old) == nil)
        _ = one.publish()
        #expect(try two.bring(intent("a", new), new) == nil)
        _ = two.publish()
        for session in isFirst ? [one, two] : [two, one] {
            #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed])
        }
        #expect(try digests(fixture, place("a")) == [IntakeFixture.digest(old)])
        #expect(try digests(fixture, RelativePath("a")) == [IntakeFixture.digest(new)])
    }

    /// A replacement that is cancelled after its second look has given the file another name for a while, and thereby
    /// another version. The acknowledgement of the file still holds, also if it was not recorded before.
    @Test(arguments: [true, false]) func whatIsNotReplacedStaysKnown(isRecorded: Bool) throws {
        let fixture = try IntakeFixture()
        let (one, two) = (session(fixture), session(fixture))
        let first = intent("a", old)
        #expect(try one.bring(first, old) == nil)
        _ = one.publish()
        if isRecorded { #expect(one.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed]) }
        let before = fixture.store.version(at: try RelativePath("a"))
        let looks = Atomic(0)
        let begun = two.begin(intent("a", new), mayEnd: false)
        begun.upload.condition = PublicationCondition { _ in
            looks.wrappingAdd(1, ordering: .relaxed).newValue == 1
        }
        try new.span.bytes.withUnsafeBytes { try begun.upload.write($0) }
        #expect(try two.finish(begun.upload, DeclaredEnd()) == nil)
        _ = two.publish()
        #expect(two.acknowledge().flatMap(\.uploads).map(\.outcome.code) != [.committed])
        if !isRecorded { #expect(one.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed]) }
        #expect(fixture.store.version(at: try RelativePath("a")) != before)
        #expect(try digests(fixture, RelativePath("a")) == [IntakeFixture.digest(old)])
        #expect(try one.bring(first, old)?.code == .committed)
    }

    /// After a replacement that failed, the file keeps its acknowledgement until the catalog has recorded its new
    /// version.
    @Test(arguments: [true, false]) func whatIsNotReplacedIsKnownUntilTheCatalogHears(isUpload: Bool) throws {
        let look = Locked<(@Sendable () -> Void)?>(nil)
        let isAsking = Locked(false)
        let calls = DatabaseCalls(failure: { call in
            if call == .commit, isAsking.withLock(\.self) { look.withLock { $0.take() }?() }
            return 0
        })
        let disk = Disk(interception: { call, body in
            guard case .rename = call, look.withLock({ $0 != nil }) else { return body() }
            isAsking.withLock { $0 = true }
            return Int(-EXDEV)
        })
        let fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true), disk: disk, calls: calls)
        let (one, two) = (session(fixture), session(fixture))
        _ = try upload("a", old, one)
        fixture.intake.known.index()
        let path = try RelativePath("a")
        let before = try #require(fixture.store.version(at: path))
        let answers = Locked<[Bool]>([])
        look.withLock { [store = fixture.store] in
            $0 = {
                let now = store.version(at: path)
                answers.withLock { $0.append(now.map { store.isAboutToGiveWay($0, knownAs: before) } ?? false) }
            }
        }
        if isUpload {
            isAsking.withLock { $0 = true }
            let begun = two.begin(intent("a", new), mayEnd: false)
            let looks = Atomic(0)
            begun.upload.condition = PublicationCondition { _ in
                looks.wrappingAdd(1, ordering: .relaxed).newValue == 1
            }
            try new.span.bytes.withUnsafeBytes { try begun.upload.write($0) }
            #expect(try two.finish(begun.upload, DeclaredEnd()) == nil)
            _ = two.publish()
        } else {
            let changes = TreeChanges(fixture.intake, fixture.store, keepsReplaced: true) { _ in Self.batch(9) }
            let result = changes.perform([.link(path, to: old, replaces: true, nil)])[0]
            #expect(throws: Failure.self) { try result.get() }
        }
        #expect(fixture.store.version(at: path) != before && answers.withLock { $0 } == [true])
    }

    /// A link fails to replace a file, which then gets another time. The acknowledgement of the file still holds.
    @Test func whatDoesNotGiveWayIsKnownWithItsNextTime() throws {
        let isFailing = Locked(false)
        let disk = Disk(interception: { call, body in
            guard case .rename = call, isFailing.withLock(\.self) else { return body() }
            return Int(-EXDEV)
        })
        let fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true), disk: disk)
        let session = session(fixture)
        let first = intent("a", old)
        #expect(try session.bring(first, old) == nil)
        _ = session.publish()
        let path = try RelativePath("a")
        isFailing.withLock { $0 = true }
        let changes = TreeChanges(fixture.intake, fixture.store, keepsReplaced: true)
        let refused = changes.perform([.link(path, to: Array("x".utf8), replaces: true, nil)])
        #expect(throws: Failure.self) { try refused[0].get() }
        isFailing.withLock { $0 = false }
        _ = try changes.perform([.set(path, Self.anotherTime)])[0].get()
        #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed])
        #expect(digests(fixture, path) == [IntakeFixture.digest(old)])
        #expect(try session.bring(first, old)?.code == .committed)
    }

    private static let anotherTime = TreeChange.Attributes(
        permissions: nil, modified: Timestamp(seconds: 1_500_000_000, nanoseconds: 1), extra: nil)

    /// A file gets another time before it is recorded. Its acknowledgement holds, whichever commit of the catalog fails
    /// then.
    @Test(arguments: 0..<3) func whatCannotBeRecordedWithItsNextTimeIsKnown(commits: Int) throws {
        let left = Locked(-1)
        // SQLITE_FULL (sqlite.org/rescode.html).
        let calls = DatabaseCalls(failure: { call in
            guard call == .commit else { return 0 }
            return left.withLock { left in
                defer { left -= 1 }
                return left == 0 ? 13 : 0
            }
        })
        let fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true), calls: calls)
        let session = session(fixture)
        let first = intent("a", old)
        #expect(try session.bring(first, old) == nil)
        _ = session.publish()
        let changes = TreeChanges(fixture.intake, fixture.store)
        _ = try changes.perform([.set(try RelativePath("a"), Self.anotherTime)])[0].get()
        left.withLock { $0 = commits }
        #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed])
        #expect(left.withLock { $0 } < (commits < 2 ? 0 : 1))
        #expect(session.lookup([first.id], .xxh128)[0] != nil)
        #expect(try session.bring(first, old)?.code == .committed)
        #expect(fixture.files == ["a"])
    }

    /// A rotten file stays marked when it gets another time, also while the catalog cannot record that.
    @Test func whatIsRottenStaysSoWhereTheCatalogIsNotTold() throws {
        let isFailing = Locked(false)
        // Writing the note succeeds, and the steps after it fail. SQLITE_FULL (sqlite.org/rescode.html).
        let calls = DatabaseCalls(failure: { call in call == .step && isFailing.withLock(\.self) ? 13 : 0 })
        let disk = Disk(interception: { call, body in
            if case .setTimes = call { isFailing.withLock { $0 = true } }
            return body()
        })
        let fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true), disk: disk, calls: calls)
        let session = session(fixture)
        let first = intent("a", old)
        #expect(try session.bring(first, old) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        let path = try RelativePath("a")
        let before = try #require(fixture.store.version(at: path))
        fixture.intake.known.index()
        fixture.intake.known.add(rotten: RottenFile(version: before, digest: IntakeFixture.digest(old)))
        _ = try TreeChanges(fixture.intake, fixture.store).perform([.set(path, Self.anotherTime)])[0].get()
        isFailing.withLock { $0 = false }
        let after = try #require(fixture.store.version(at: path))
        #expect(!after.hasSameContent(as: before) && fixture.intake.known.isRotten(after))
        #expect(session.lookup([first.id], .xxh128)[0] == nil)
        fixture.intake.known.index()
        #expect(fixture.intake.known.isRotten(after))
    }

    /// A lookup still finds an upload after the file was linked into the trash and before it has lost its first name.
    @Test func whatIsAboutToBeReplacedIsKnown() throws {
        let fixture = try IntakeFixture()
        let (one, two) = (session(fixture), session(fixture))
        let first = intent("a", old)
        _ = try one.bring(first, old)
        #expect(one.outcomes().map(\.code) == [.committed])
        nonisolated(unsafe) let asking = one
        let (path, before) = (try RelativePath("a"), fixture.store.version(at: try RelativePath("a")))
        let answers = Locked<[(isTouched: Bool, isKnown: Bool)]>([])
        let begun = two.begin(intent("a", new), mayEnd: false)
        begun.upload.condition = PublicationCondition { [store = fixture.store] _ in
            let isKnown = asking.lookup([first.id], .xxh128)[0] != nil
            answers.withLock { $0.append((store.version(at: path) != before, isKnown)) }
            return true
        }
        try new.span.bytes.withUnsafeBytes { try begun.upload.write($0) }
        #expect(try two.finish(begun.upload, DeclaredEnd()) == nil)
        _ = two.publish()
        #expect(two.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed])
        let seen = answers.withLock { $0 }
        #expect(seen.contains { $0.isTouched } && seen.allSatisfy { $0.isKnown }, "\(seen)")
        #expect(one.lookup([first.id], .xxh128)[0] == nil)
    }

    /// The process ends at any call to the disk or the catalog. Acknowledged content is never lost, neither the old nor
    /// the new.
    @Test func aServerThatIsKilledAnywhere() throws {
        var calls = 0
        while true {
            let kill = Kill(after: calls)
            let directory = try TemporaryDirectory(prefersMemory: true)
            let fixture = try IntakeFixture(in: directory, disk: kill.disk, calls: kill.calls)
            let session = session(fixture)
            #expect(try upload("d/a", old, session)?.code == .committed)
            kill.isArmed = true
            let outcome = try? upload("d/a", new, session)
            kill.isArmed = false
            guard kill.hasKilled else { break }
            fixture.end()
            let next = try IntakeFixture(in: directory)
            _ = next.intake.known.resolveIntended(in: next.store)
            let places = [try RelativePath("d/a"), try place("d/a")].map { directory.path("store/\($0.string)") }
            let there = places.compactMap { MarkdownDocument.read($0) }
            #expect(there.contains("old"), "killed at call \(calls)")
            #expect(["old", "newer"].contains(there[0]), "killed at call \(calls)")
            if outcome?.code == .committed { #expect(there == ["newer", "old"], "killed at call \(calls)") }
            next.end()
            calls += 1
        }
        #expect(calls > 10)
    }

    /// A copy that replaces a file keeps the replaced content in the trash, as an upload does.
    @Test func whatACopyReplacesIsKept() throws {
        let fixture = try IntakeFixture()
        let session = session(fixture)
        #expect(try upload("a", old, session)?.code == .committed)
        let staged = try fixture.store.stage(id: .random(), size: 5, permissions: nil)
        try new.withUnsafeBytes { try staged.write($0, at: 0) }
        var publication = Publication(
            staged: staged, id: .random(), path: try RelativePath("a"), size: 5, digest: IntakeFixture.digest(new),
            conflict: .overwrite)
        publication.trash = session.trash
        _ = try fixture.intake.publish(copy: publication, .file, for: session.caller, begun: 0)
        #expect(try digests(fixture, place("a")) == [IntakeFixture.digest(old)])
        #expect(try digests(fixture, RelativePath("a")) == [IntakeFixture.digest(new)])
    }

    /// A replaced file counts for the quota of the client that stored it until it is removed from the trash.
    @Test func itCountsForItsOwner() throws {
        let fixture = try IntakeFixture()
        var options = AccessOptions()
        options.quota = 1 << 20
        let session = fixture.session(of: "alice", options)
        session.trash = Self.part()
        let content = [UInt8](repeating: 1, count: 100_000)
        #expect(try upload("a", content, session)?.code == .committed)
        #expect(try upload("a", content + [1], session)?.code == .committed)
        let quota = try #require(fixture.intake.quotas.quota(for: session.caller.grant))
        #expect(quota.used > 200_000)
        let removals = StoredRemovals(fixture.intake, fixture.store)
        let removal = try removals.begin(.trash(Self.batch(1), nil), isRecursive: true)
        var gone: UInt64 = 0
        while try !removals.goOn(removal, gone: &gone) {}
        try removals.commit()
        #expect(gone == 1 && (100_000..<150_000).contains(quota.used))
    }
}
