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

/// Changes whose sync has failed, followed by another change, by a catalog that fails as well, or by a restart.
@Suite struct UnresolvedChangesTests {
    private static let system = FileSystem(isMemory: false, syncsAsAWhole: false)

    /// A server's directory on a disk whose syncs fail on request, with a clock that the test advances.
    private final class Machine: Sendable {
        /// Number of the next syncs that fail; -1 for all.
        let failing = Atomic(0)
        /// Number of syncs since the last reset.
        let syncs = Atomic(0)
        /// Name whose rename sets `failing`.
        let trigger = Locked<(name: String, failing: Int)?>(nil)
        let time = Atomic(Int64(0))
        let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory(prefersMemory: true) }

        private var disk: Disk {
            Disk(interception: { [self] call, body in
                if case .rename(_, let name, _, _, _) = call {
                    trigger.withLock { trigger in
                        guard let due = trigger, due.name == name else { return }
                        failing.store(due.failing, ordering: .relaxed)
                        trigger = nil
                    }
                }
                guard case .sync = call else { return body() }
                syncs.wrappingAdd(1, ordering: .relaxed)
                let left = failing.load(ordering: .relaxed)
                if left > 0 { failing.store(left - 1, ordering: .relaxed) }
                return left == 0 ? body() : -5
            })
        }

        func server(_ calls: DatabaseCalls = DatabaseCalls()) throws -> IntakeFixture {
            let clock = IntakeClock(
                monotonic: { [self] in time.load(ordering: .relaxed) },
                utc: { [self] in time.wrappingAdd(1, ordering: .relaxed).newValue })
            return try IntakeFixture(
                in: directory, disk: disk, fileSystem: UnresolvedChangesTests.system, calls: calls, clock: clock)
        }

        func wait() { time.wrappingAdd(300_000_000_000, ordering: .relaxed) }
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func move(_ path: String, to target: String) throws -> TreeChange {
        .move(try self.path(path), to: try self.path(target), replaces: false)
    }

    /// Stores files with their names as content.
    private func fill(_ fixture: IntakeFixture, _ names: [String]) throws {
        let session = fixture.session()
        for name in names {
            _ = try session.bring(UploadIntent(id: .random(), path: name, size: nil), Array(name.utf8))
        }
        for outcome in session.outcomes() { #expect(outcome.code == .committed) }
        session.leave()
        fixture.intake.known.index()
    }

    /// - Returns: for each change, whether it has succeeded.
    private func perform(_ changes: [TreeChange], _ fixture: IntakeFixture) -> [Bool] {
        TreeChanges(fixture.intake, fixture.store).perform(changes).map { (try? $0.get()) != nil }
    }

    /// Requires that the catalog records the existing file with this content at each path.
    private func expect(_ files: [String: String], _ fixture: IntakeFixture) throws {
        fixture.intake.known.index()
        for (name, content) in files {
            let known = fixture.intake.known.entries(at: [name])[0]
            #expect(known.map(\.version) == [fixture.store.version(at: try path(name))], "\(name)")
            #expect(known.map(\.digest) == [IntakeFixture.digest(Array(content.utf8))], "\(name)")
        }
    }

    /// A change that was refused before any rename keeps no note. Its source can be changed again, also if its target
    /// is in a folder in doubt.
    @Test func aMoveThatIsRefusedFreezesNothing() throws {
        let machine = try Machine()
        let fixture = try machine.server()
        try fill(fixture, ["a"])
        machine.failing.store(1, ordering: .relaxed)
        let changes: [TreeChange] = [.folder(try path("n"), replaces: false, nil), try move("a", to: "n/a")]
        #expect(perform(changes, fixture) == [false, false])
        #expect(fixture.files == ["a", "n"])
        #expect(perform([try move("a", to: "x")], fixture) == [true])
        try expect(["x": "a"], fixture)
    }

    /// Changes that the catalog could not record are recorded before those that are settled later, in the order in
    /// which they were made.
    @Test func whatIsUntoldComesBeforeWhatIsSettled() throws {
        let machine = try Machine()
        let commits = Atomic(-1)
        // Writing the note succeeds, and the transaction after it fails. SQLITE_FULL (sqlite.org/rescode.html).
        let calls = DatabaseCalls(failure: { call in
            guard call == .commit, commits.load(ordering: .relaxed) >= 0 else { return 0 }
            return commits.wrappingAdd(1, ordering: .relaxed).oldValue == 1 ? 13 : 0
        })
        let fixture = try machine.server(calls)
        try fill(fixture, ["a", "k/x", "z"])
        machine.trigger.withLock { $0 = ("a", 1) }
        commits.store(0, ordering: .relaxed)
        #expect(perform([try move("k", to: "q"), try move("a", to: "k/x")], fixture) == [true, false])
        machine.wait()
        _ = perform([try move("z", to: "y")], fixture)
        try expect(["q/x": "k/x", "k/x": "a"], fixture)
    }

    /// While disk and catalog fail, repeated changes do not lengthen the list of changes that the catalog has yet to
    /// record.
    @Test func whatIsUntoldStaysShort() throws {
        let machine = try Machine()
        let isFull = Atomic(false)
        let calls = DatabaseCalls(failure: { call in call == .commit && isFull.load(ordering: .relaxed) ? 13 : 0 })
        let fixture = try machine.server(calls)
        try fill(fixture, ["a", "b"])
        machine.trigger.withLock { $0 = ("a", -1) }
        #expect(perform([try move("a", to: "x")], fixture) == [false])
        isFull.store(true, ordering: .relaxed)
        for _ in 0..<20 {
            machine.wait()
            #expect(perform([try move("b", to: "y")], fixture) == [false])
        }
        #expect(fixture.intake.known.untold.withLock { $0.changes.count } < 3)
        machine.failing.store(0, ordering: .relaxed)
        isFull.store(false, ordering: .relaxed)
        machine.wait()
        #expect(perform([try move("b", to: "a")], fixture) == [true])
        try expect(["x": "a", "a": "b"], fixture)
    }

    /// The server could not settle a change at its start, and the syncs that its first change needs for this fail as
    /// well.
    @Test func theFirstChangeMeetsWhatTheStartCouldNotRead() throws {
        let machine = try Machine()
        let first = try machine.server()
        try fill(first, ["a", "b", "c"])
        machine.trigger.withLock { $0 = ("a", -1) }
        #expect(perform([try move("a", to: "x")], first) == [false])
        first.end()
        machine.failing.store(0, ordering: .relaxed)
        let next = try machine.server()
        machine.failing.store(2, ordering: .relaxed)
        #expect(perform([try move("b", to: "a")], next) == [false])
        machine.failing.store(0, ordering: .relaxed)
        machine.wait()
        #expect(perform([try move("b", to: "a"), try move("c", to: "y")], next) == [true, true])
        try expect(["x": "a", "a": "b", "y": "c"], next)
    }

    /// Notes whose folder is in doubt stay until the machine is started again. They cost other changes no syncs, and
    /// only changes of their paths are refused.
    @Test func whatStaysInDoubtCostsOthersNothing() throws {
        let machine = try Machine()
        let fixture = try machine.server()
        let names = (0..<60).map { "p/q/\($0)" }
        try fill(fixture, names + ["z", "p/other"])
        machine.failing.store(1, ordering: .relaxed)
        let links: [TreeChange] = try (0..<60).map {
            .hardLink(try path("n/\($0)"), to: try path("p/q/\($0)"), replaces: false, nil)
        }
        #expect(!perform(links, fixture).contains(true))
        #expect(fixture.intake.known.unresolved.withLock { $0.changes.count } == 60)
        let attributes = TreeChange.Attributes(permissions: 0o600, modified: nil, extra: nil)
        for _ in 0..<3 {
            machine.wait()
            machine.syncs.store(0, ordering: .relaxed)
            #expect(perform([.set(try path("z"), attributes)], fixture) == [true])
            #expect(machine.syncs.load(ordering: .relaxed) <= 2)
        }
        let others: [TreeChange] = [
            .folder(try path("p"), replaces: false, nil), .folder(try path("p/q"), replaces: false, nil),
            .set(try path("p/other"), attributes), .set(try path("p/q/3"), attributes), try move("p", to: "r"),
        ]
        #expect(perform(others, fixture) == [true, true, true, false, false])
    }
}
