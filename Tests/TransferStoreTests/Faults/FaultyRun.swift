import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferProtocol
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// A workload in which one call fails, and the rules that hold afterwards.
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
    ///   - codes: result codes that each error may lead to.
    ///   - restarts: whether the failed uploads are sent again to another server.
    func check(_ codes: [Int32: ResultCode], thenRestarts restarts: Bool) throws {
        let context = "\(workload), \(fault), \(restarts ? "restart" : "retry"): \(script.failed)"
        checkResults(codes, "\(context)")
        checkWhatIsVisible(context)
        #expect(Self.descriptors(fixture, script) == descriptors, "\(context)")
        try checkPromises("\(context)")
        // The store continues: failed uploads succeed when they are sent again, and so do all others. Only a directory
        // that the store made and could not sync has to be removed first.
        script.mend()
        let fixture = restarts ? try fixture.restarted(on: script.disk) : fixture
        // If the mark could not be set, no sync has begun, and no data is lost.
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
                // An earlier batch failed to sync a directory that this one uses as well.
                let isDoubt = error.code == .storageFailed && error.message.contains("remove the directory")
                #expect(error.code == codes[code] || isDoubt, "\(context)")
            }
        }
    }

    /// A failed upload is not visible, unless it already had its name when a sync failed.
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
        // If the server died, the next one removes the leftovers.
        if fault.kind != .death, !script.failed.contains("unlink") { #expect(fixture.parts.isEmpty, "\(context)") }
    }

    /// Acknowledged files are durable according to the recording.
    private func checkPromises(_ context: String) throws {
        let recording = try #require(script.recording)
        let seed = Seeds.one
        var check = CrashCheck(recording, bound: 6, seed: seed)
        check.check(at: recording.effects.count)
        #expect(check.violations.isEmpty, "\(context), seed \(seed)")
    }

    /// Number of descriptors that the store has open, without those that the script holds.
    private static func descriptors(_ fixture: StoreFixture, _ script: ScriptedDisk) -> Int {
        Files.descriptors(below: fixture.root).count - script.heldCount
    }
}
