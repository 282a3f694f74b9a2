import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferProtocol
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// A workload in which something goes wrong, and what has to hold afterwards.
struct FaultyRun {
    private let workload: Workload
    private let fault: ScriptedDisk.Fault
    private let script = ScriptedDisk()
    private let fixture: StoreFixture
    private let descriptors: Int
    private let outcomes: [Workload.Outcome]

    init(_ workload: Workload, _ fileSystem: FileSystem, _ fault: ScriptedDisk.Fault) throws {
        self.workload = workload
        self.fault = fault
        fixture = try StoreFixture(fileSystem: fileSystem, script: script, before: workload.before)
        descriptors = Self.descriptors(fixture, script)
        script.start(fixture.root, fault: fault)
        outcomes = try workload.run(on: fixture, script)
    }

    /// - Parameters:
    ///   - codes: with which an upload may fail for each error.
    ///   - restarts: whether what failed is sent to another server again.
    func check(_ codes: [Int32: ResultCode], thenRestarts restarts: Bool) throws {
        let context = "\(workload), \(fault), \(restarts ? "restart" : "retry"): \(script.failed)"
        checkResults(codes, "\(context)")
        checkWhatIsVisible(context)
        #expect(Self.descriptors(fixture, script) == descriptors, "\(context)")
        try checkPromises("\(context)")
        // The store goes on: what failed succeeds when it is sent again, and so does everything else. Only a directory that
        // it made and then could not sync has to be removed.
        script.mend()
        let fixture = restarts ? try fixture.restarted(on: script.disk) : fixture
        // Where the mark could not be set, no sync has begun, and nothing is lost.
        if fault.kind != .death, script.failed.contains(where: { $0.hasPrefix("sync") && $0 != "syncMark" }) {
            try removeDirectories(in: fixture, context)
        }
        for outcome in try workload.run(on: fixture, script) {
            #expect(throws: Never.self, "\(context)") { try outcome.result.get() }
        }
        script.acknowledge("new", .six)
        #expect(try fixture.publish("new", .six) == .committed("new"), "\(context)")
        try checkPromises("\(context), afterwards")
    }

    private func removeDirectories(in fixture: StoreFixture, _ context: String) throws {
        let succeeded = outcomes.contains { if case .success = $0.result { true } else { false } }
        guard fixture.visible.contains("d/"), !succeeded else { return }
        #expect(try fixture.failure("d/x", .six) == .storageFailed, "\(context)")
        try script.move("d", from: fixture.root, to: fixture.temporary.path("removed"))
    }

    private func checkResults(_ codes: [Int32: ResultCode], _ context: String) {
        for outcome in outcomes {
            guard case .failure(let error) = outcome.result else { continue }
            switch fault.kind {
            case .error(EINTR), .short: Issue.record("\(context): \(error)")
            case .death: break
            case .error(let code), .lastingError(let code):
                // Of an earlier batch, about a directory that this one goes to as well.
                let isDoubt = error.code == .storageFailed && error.message.contains("removed")
                #expect(error.code == codes[code] || isDoubt, "\(context)")
            }
        }
    }

    /// What failed is not there, unless it had its name already when a sync failed.
    private func checkWhatIsVisible(_ context: String) {
        let before = workload.before
        let wanted = Dictionary(grouping: outcomes) { $0.upload.content }
        for path in fixture.visible where !path.hasSuffix("/") {
            let content = Files.read(fixture.path(path)) ?? []
            if before[path] == content { continue }
            let succeeded = wanted[content, default: []].contains {
                if case .success = $0.result { true } else { false }
            }
            #expect(wanted[content] != nil, "\(context): \(path) is not whole")
            #expect(
                succeeded || fault.kind == .death || script.failed.contains { $0.hasPrefix("sync") },
                "\(context): \(path) is visible")
        }
        // The next server removes what is left by one that died.
        if fault.kind != .death, !script.failed.contains("unlink") { #expect(fixture.parts.isEmpty, "\(context)") }
    }

    /// What was acknowledged is durable, as the recording has it.
    private func checkPromises(_ context: String) throws {
        let recording = try #require(script.recording)
        let seed = Seeds.one
        var check = CrashCheck(recording, bound: 6, seed: seed)
        check.check(at: recording.effects.count)
        #expect(check.violations.isEmpty, "\(context), seed \(seed)")
    }

    /// Descriptors that the store has, without those that the script holds.
    private static func descriptors(_ fixture: StoreFixture, _ script: ScriptedDisk) -> Int {
        Files.descriptors(below: fixture.root).count - script.heldCount
    }
}
