import Testing
import TransferPorts
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A power cut at every point of a run, with every state that it can leave: no acknowledged file is lost, and no file
/// is partly visible.
@Suite struct CrashConsistencyTests {
    private static let disks = [
        FileSystem(isMemory: false, syncsAsAWhole: true), FileSystem(isMemory: false, syncsAsAWhole: false),
    ]

    /// States per point; all tests here take 1.5 seconds.
    private static let bound = 600

    private func recording(_ workload: Workload, _ fileSystem: FileSystem) throws -> DiskRecording {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: fileSystem, script: script, before: workload.before)
        script.start(fixture.root)
        for outcome in try workload.run(on: fixture, script) { _ = try outcome.result.get() }
        return try #require(script.recording)
    }

    private func check(_ recording: DiskRecording, _ seed: UInt64) -> CrashCheck {
        var check = CrashCheck(recording, bound: Self.bound, seed: seed)
        check.checkEverywhere()
        return check
    }

    @Test(arguments: Workload.allCases, disks)
    func nothingAcknowledgedIsLostAndNothingIsPartial(workload: Workload, fileSystem: FileSystem) throws {
        let recording = try recording(workload, fileSystem)
        let seed = Seeds.one
        let check = check(recording, seed)
        #expect(check.violations.isEmpty, "seed \(seed)")
        #expect(check.states > recording.effects.count)
    }

    /// Two batches make the same directories at once: neither may rely on a sync that the other has not made yet.
    @Test(arguments: disks) func twoAtOnce(fileSystem: FileSystem) throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: fileSystem, script: script)
        script.start(fixture.root)
        let workloads = [Workload.newDirectories, .twice]
        inParallel(on: 2, 2) { index in
            #expect(throws: Never.self) {
                for outcome in try workloads[index].run(on: fixture, script) { _ = try outcome.result.get() }
            }
        }
        let seed = Seeds.one
        let check = check(try #require(script.recording), seed)
        #expect(check.violations.isEmpty, "seed \(seed)")
    }

    /// Mistakes that break the promise; the check has to notice each.
    enum Mistake: CaseIterable {
        case nameBeforeContent
        case directoryForgotten
        case contentForgotten
        case upperDirectoryForgotten
        case acknowledgedTooEarly
        case failedSyncRepeated

        fileprivate func make(in recording: DiskRecording) -> DiskRecording {
            typealias Effect = DiskRecording.Effect
            func isDirectory(_ object: DiskRecording.Object) -> Bool { recording.directories.contains(object) }
            func syncsContent(_ effect: Effect) -> Bool {
                if case .sync(let object) = effect { !isDirectory(object) } else { effect == .syncAll }
            }
            func syncsNames(_ effect: Effect) -> Bool {
                if case .sync(let object) = effect { isDirectory(object) } else { effect == .syncAll }
            }
            func isName(_ effect: Effect) -> Bool { if case .name = effect { true } else { false } }
            func isAcknowledgement(_ effect: Effect) -> Bool { if case .acknowledge = effect { true } else { false } }

            let effects = recording.effects
            var mistaken = recording
            switch self {
            case .nameBeforeContent:
                let lastName = effects.lastIndex(where: isName) ?? 0
                let early = effects[...lastName]
                mistaken.effects = early.filter { !syncsContent($0) } + early.filter(syncsContent)
                mistaken.effects += effects[(lastName + 1)...]
            case .contentForgotten:
                mistaken.effects.removeAll { if case .sync(let object) = $0 { !isDirectory(object) } else { false } }
                if let whole = mistaken.effects.firstIndex(of: .syncAll) { mistaken.effects.remove(at: whole) }
            case .directoryForgotten:
                if let last = effects.lastIndex(where: syncsNames) { mistaken.effects.remove(at: last) }
            case .upperDirectoryForgotten: mistaken.effects.removeAll { $0 == .sync(recording.root) }
            case .acknowledgedTooEarly:
                let last = effects.lastIndex(where: syncsNames) ?? 0
                mistaken.effects.insert(contentsOf: effects[last...].filter(isAcknowledgement), at: last)
            case .failedSyncRepeated:
                mistaken.effects = effects.flatMap { effect -> [Effect] in
                    guard case .sync(let object) = effect else { return [effect] }
                    return [.failedSync(object), effect]
                }
            }
            return mistaken
        }
    }

    @Test(arguments: Mistake.allCases, [Workload.single, .long, .overwrite, .newDirectories])
    func mistakesAreNoticed(mistake: Mistake, workload: Workload) throws {
        let recording = try recording(workload, Self.disks[1])
        let seed = Seeds.one
        #expect(!check(mistake.make(in: recording), seed).violations.isEmpty, "seed \(seed)")
    }
}
