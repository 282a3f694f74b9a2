import Glibc
import Testing
import TransferAccess
import TransferCatalog
import TransferCluster
import TransferClusterModel
import TransferDatabase
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Files, names and rows count for a client's quota in addition to the content.
@Suite struct CallerQuotasTests {
    private func options(_ change: (inout AccessOptions) -> Void) -> AccessOptions {
        var options = AccessOptions()
        change(&options)
        return options
    }

    private func upload(
        _ path: String, _ session: IntakeSession, _ content: [UInt8] = [], _ conflict: ConflictPolicy = .overwrite
    ) throws -> ResultCode? {
        let intent = UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: conflict)
        return try session.bring(intent, content)?.code ?? session.outcomes().first?.code
    }

    private func make(_ changes: [TreeChange], _ fixture: IntakeFixture, _ session: IntakeSession) -> [ResultCode?] {
        let tree = TreeChanges(fixture.intake, fixture.store)
        tree.grant = session.caller.grant
        return tree.perform(changes).map { result in if case .failure(let error) = result { error.code } else { nil } }
    }

    /// An empty file has a price: its block on the disk and its row in the catalog.
    @Test func emptyFilesHaveAPrice() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session(of: "alice", options { $0.quota = 3 * QuotaPrice.file("a") })
        for name in ["a", "b", "c"] { #expect(try upload(name, session) == .committed) }
        #expect(try upload("d", session) == .quotaExceeded)
        #expect(fixture.files == ["a", "b", "c"])
        // Storing the same content again makes no file, but one more row.
        #expect(try upload("c", session) == .quotaExceeded)
        let removals = StoredRemovals(fixture.intake, fixture.store)
        let removal = try removals.begin(try RelativePath("b"), isRecursive: false)
        var gone: UInt64 = 0
        #expect(try removals.goOn(removal, gone: &gone))
        try removals.commit()
        #expect(try upload("d", session) == .committed)
    }

    @Test func anyNumberOfUploadsOfOnePathHasAPrice() throws {
        let fixture = try IntakeFixture()
        let limit = QuotaPrice.file("a") + 10 * QuotaPrice.row("a")
        let session = fixture.session(of: "alice", options { $0.quota = limit })
        let codes = try (0..<13).map { _ in try upload("a", session) }
        #expect(
            codes == [.committed] + [ResultCode?](repeating: .alreadyStored, count: 10) + [
                .quotaExceeded, .quotaExceeded,
            ])
    }

    /// Missing folders of a path count once each, and the next server counts the same names.
    @Test func namesAreCounted() throws {
        let fixture = try IntakeFixture()
        let options = options { $0.maximumFiles = 5 }
        let session = fixture.session(of: "alice", options)
        #expect(try upload("d/e/a", session) == .committed)
        #expect(try upload("d/e/f/b", session) == .committed)
        #expect(try upload("c", session) == .quotaExceeded)
        #expect(try upload("d/e/a", session, [1]) == .committed)
        let names = try #require(fixture.intake.quotas.limits(for: session.caller.grant)?.names)
        #expect(names.used == 5)
        session.leave()
        fixture.intake.known.index()
        let next = try IntakeFixture(after: fixture)
        let again = next.session(of: "alice", options)
        #expect(next.intake.quotas.limits(for: again.caller.grant)?.names?.used == 5)
        #expect(try upload("c", again) == .quotaExceeded)
        #expect(try upload("c", next.session(of: "bob")) == .committed)
    }

    /// Folders and links made by requests count as well. Moving a folder moves its names along.
    @Test func whatIsMadeCounts() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session(of: "alice", options { ($0.maximumFiles, $0.quota) = (4, 1 << 20) })
        let folder = TreeChange.folder(try RelativePath("d/e"), replaces: false, nil)
        #expect(make([folder], fixture, session) == [nil])
        #expect(make([folder], fixture, session) == [nil])
        let link = TreeChange.link(try RelativePath("d/l"), to: Array("e".utf8), replaces: false, nil)
        #expect(make([link], fixture, session) == [nil])
        let move = TreeChange.move(try RelativePath("d"), to: try RelativePath("m"), replaces: false)
        #expect(make([move], fixture, session) == [nil])
        #expect(make([.folder(try RelativePath("n/o"), replaces: false, nil)], fixture, session) == [.quotaExceeded])
        #expect(make([.folder(try RelativePath("n"), replaces: false, nil)], fixture, session) == [nil])
        #expect(make([.folder(try RelativePath("p"), replaces: false, nil)], fixture, session) == [.quotaExceeded])
        let limits = try #require(fixture.intake.quotas.limits(for: session.caller.grant))
        #expect(limits.names?.used == 4 && limits.bytes?.used == 4 * QuotaPrice.name)
        let made = MadeNames()
        made.add(try ["d", "d/e", "de"].map { try RelativePath($0) })
        made.move(try RelativePath("d"), to: try RelativePath("m/n"))
        #expect(Set(made.paths.map(\.string)) == ["m/n", "m/n/e", "de"])
    }

    /// An upload that fails or is skipped releases the names and bytes reserved for it.
    @Test func whatIsNotStoredIsGivenBack() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session(of: "alice", options { ($0.maximumFiles, $0.quota) = (2, 1 << 20) })
        #expect(try upload("a", session) == .committed)
        for _ in 0..<3 { #expect(try upload("a", session, [1], .fail) == .pathConflict) }
        for _ in 0..<3 { #expect(try upload("a", session, [1], .skip) == .skipped) }
        let limits = try #require(fixture.intake.quotas.limits(for: session.caller.grant))
        #expect(limits.names?.used == 1 && limits.bytes?.used == QuotaPrice.file("a"))
    }

    @Test func foldersAreCountedOnce() throws {
        var count = FolderCount(below: try RelativePath("t/o"))
        let paths = ["t/o/a", "t/o/p-b/x", "t/o/p/b", "t/o/p/c/d", "t/o/p/c/e", "t/q/a"]
        #expect(
            paths.map { path in RelativePath(stored: path).map { count.folders(above: $0).map(\.string) } ?? [] }
                == [[], ["t/o/p-b"], ["t/o/p"], ["t/o/p/c"], [], ["t/q"]])
    }

    /// A disk at its limit accepts no folders, attributes, mail or new uploads. Stored files can still be moved and
    /// removed.
    @Test func aFullDiskStopsWhatIsNoContent() throws {
        let fixture = try IntakeFixture(people: [MailPerson("bob")], calls: DatabaseCalls())
        let session = fixture.session(of: "alice")
        #expect(try upload("a", session) == .committed)
        fixture.end()
        let full = try IntakeFixture(
            in: fixture.directory, limits: SpaceLimits(minimumFree: .max), people: [MailPerson("bob")])
        let next = full.session(of: "alice")
        let a = try RelativePath("a")
        let attributes = TreeChange.Attributes(permissions: 0o600, modified: nil, extra: nil)
        let folder = TreeChange.folder(try RelativePath("d"), replaces: false, nil)
        #expect(make([folder, .set(a, attributes)], full, next) == [.insufficientStorage, .insufficientStorage])
        let mail = UploadIntent(id: .random(), path: "m", size: 0, recipients: ["bob"])
        #expect(throws: Failure.self) {
            if case .refused(let error, _)? = try next.bring(mail, []) ?? next.outcomes().first { throw error }
        }
        #expect(try full.intake.mailroom?.ledger.waiting().count == 0)
        let error = #expect(throws: Failure.self) { try full.intake.makePlace(for: next.caller) }
        #expect(error?.code == .insufficientStorage && error?.message.contains("min-free") ?? false)
        #expect(make([.move(a, to: try RelativePath("b"), replaces: false)], full, next) == [nil])
        #expect(make([.discard(try RelativePath("b"), isRecursive: false)], full, next) == [nil])
    }

    // MARK: Several servers

    private final class Clock: Sendable {
        let seconds = Locked<Int64>(0)
        var nanoseconds: Int64 { seconds.withLock { $0 * 1_000_000_000 } }
    }

    /// A connection with one more server of a cluster.
    private func session(
        _ medium: ClusterMedium, _ clock: Clock, _ change: (inout AccessOptions) -> Void
    ) throws -> (IntakeSession, any ServerStore) {
        let store = try medium.store()
        let intake = Intake(
            Intake.Configuration(maximumMultiparts: 8, filesAtOnce: 100, maximumUpload: 1 << 40, keepUnfinished: .max),
            store: store, records: ClusterRecords(medium.ledger()), signer: nil,
            clock: IntakeClock(monotonic: { clock.nanoseconds }, utc: { clock.nanoseconds })
        ) { _ in }
        let caller = Caller(
            Grant(.token("alice"), name: "alice", options: options(change)), UploadScope(), peer: "test")
        let way = IntakeSession.Connection(number: 1) { work in work() }
        return (IntakeSession(intake, way, caller: caller), store)
    }

    /// What a client stores at one server counts at the others.
    @Test func aQuotaIsForAllServers() throws {
        let (medium, clock) = (ClusterMedium(), Clock())
        let limit = 3 * QuotaPrice.file("a") + 100
        let first = try session(medium, clock) { $0.quota = limit }.0
        let second = try session(medium, clock) { $0.quota = limit }.0
        #expect(try upload("a", first, [1]) == .committed)
        #expect(try upload("b", second, [2]) == .committed)
        // The first server counts again after 10 s.
        clock.seconds.withLock { $0 += 10 }
        #expect(try upload("c", first, [3]) == .committed)
        #expect(try upload("d", first, [4]) == .quotaExceeded)
        clock.seconds.withLock { $0 += 10 }
        #expect(try upload("d", second, [4]) == .quotaExceeded)
        #expect(medium.paths().sorted() == ["a", "b", "c"])
    }

    /// The unfinished uploads of a client count at all servers.
    @Test func whatIsUnfinishedElsewhereCounts() throws {
        let (medium, clock) = (ClusterMedium(), Clock())
        let limit: UInt64 = 100_000
        let first = try session(medium, clock) { $0.quota = limit }.0
        let append = UploadAppend(at: 0, total: 60_000, ending: .never, isNew: true)
        let begun = UploadIntent(id: .random(), path: "a", size: 1, extent: .append(append))
        #expect(try first.bring(begun, [1], declared: DeclaredEnd())?.code == .staged)
        first.intake.known.recordUnfinished()
        let second = try session(medium, clock) { $0.quota = limit }.0
        #expect(second.intake.quotas.quota(for: second.caller.grant)?.used == 60_000)
        let error = #expect(throws: Failure.self) {
            try upload("b", second, [UInt8](repeating: 0, count: 50_000))
        }
        #expect(error?.code == .quotaExceeded)
    }

    /// Folders that the client has made count once, whether they have files or not, until they are gone.
    @Test func madeFoldersCountOnce() throws {
        let (medium, clock) = (ClusterMedium(), Clock())
        let (client, store) = try session(medium, clock) { $0.maximumFiles = 10 }
        let tree = TreeChanges(client.intake, store)
        tree.grant = client.caller.grant
        for path in ["d", "d/e", "f"] {
            _ = try tree.perform([.folder(RelativePath(path), replaces: false, nil)]).map { try $0.get() }
        }
        #expect(try upload("d/e/g/a", client, [1]) == .committed)
        let names = try #require(client.intake.quotas.limits(for: client.caller.grant)?.names)
        #expect(names.used == 5)
        clock.seconds.withLock { $0 += 10 }
        #expect(try upload("b", client, [1]) == .committed)
        #expect(names.used == 6)
        try medium.remove(RelativePath("f"))
        clock.seconds.withLock { $0 += 10 }
        #expect(try upload("c", client, [1]) == .committed)
        #expect(names.used == 6)
    }

    /// The quotas, and with them their descriptors, are released with the server.
    @Test func nothingIsKeptBehindTheServer() throws {
        weak var quotas: CallerQuotas?
        do {
            let fixture = try IntakeFixture()
            let session = fixture.session(of: "alice", options { ($0.maximumFiles, $0.quota) = (9, 1 << 20) })
            #expect(try upload("a", session) == .committed)
            quotas = fixture.intake.quotas
            #expect(quotas != nil)
        }
        #expect(quotas == nil)
    }
}
