import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// Each system call of the store fails in turn.
@Suite struct FaultyDiskTests {
    private static let wholeDisk = FileSystem(isMemory: false, syncsAsAWhole: true)
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)

    static let codes: [Int32: ResultCode] = [
        ENOSPC: .insufficientStorage, EDQUOT: .quotaExceeded, EIO: .storageFailed, EROFS: .storageFailed,
        EMFILE: .busy, ENOMEM: .busy,
    ]

    private static var kinds: [ScriptedDisk.Fault.Kind] {
        codes.keys.sorted().map { .error($0) } + [.error(EINTR), .short]
            + [ENOSPC, EIO, EROFS].map { .lastingError($0) }
    }

    private func calls(_ workload: Workload, _ fileSystem: FileSystem) throws -> Int {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: fileSystem, script: script, before: workload.before)
        script.start(fixture.root)
        for outcome in try workload.run(on: fixture, script) { _ = try outcome.result.get() }
        return script.count
    }

    /// All workloads with a sync for each file. With one sync for the whole file system, only the workloads that are
    /// large enough to use it.
    private static let cases: [(Workload, FileSystem)] =
        Workload.allCases.map { ($0, simpleDisk) } + [(.smallBatch, wholeDisk), (.newDirectories, wholeDisk)]

    @Test(arguments: cases) func everyCallFails(_ workload: Workload, fileSystem: FileSystem) throws {
        let count = try calls(workload, fileSystem)
        #expect(count >= 6)
        for kind in Self.kinds {
            for call in 0..<count {
                try FaultyRun(workload, fileSystem, ScriptedDisk.Fault(call: call, kind: kind))
                    .check(Self.codes, thenRestarts: false)
            }
        }
    }

    /// The uploads are sent again to another server, which has the same page cache and remembers nothing.
    @Test(arguments: cases) func everyCallFailsAndTheServerIsRestarted(
        _ workload: Workload, fileSystem: FileSystem
    ) throws {
        for kind in [.error(EIO), .death] as [ScriptedDisk.Fault.Kind] {
            for call in 0..<(try calls(workload, fileSystem)) {
                try FaultyRun(workload, fileSystem, ScriptedDisk.Fault(call: call, kind: kind))
                    .check(Self.codes, thenRestarts: true)
            }
        }
    }

    /// The store opens, or throws an error that says why not; the next attempt succeeds.
    @Test func openingFails() throws {
        let script = ScriptedDisk()
        script.start()
        let temporary = try TemporaryDirectory()
        func open(_ name: String, _ script: ScriptedDisk) throws -> FileStore {
            try FileStore(
                path: temporary.path(name), durability: .commit, fileSystem: nil, disk: script.disk)
        }
        _ = try open("counted", script)
        for call in 0..<script.count {
            for code in Self.codes.keys.sorted() + [EINTR] {
                let name = "\(call)-\(code)"
                let faulty = ScriptedDisk()
                faulty.start(fault: ScriptedDisk.Fault(call: call, kind: .error(code)))
                do {
                    let fixture = StoreFixture(temporary: temporary, store: try open(name, faulty), name: name)
                    #expect(try fixture.publish("a/b", .one) == .committed("a/b"), "\(name)")
                } catch let error as Failure {
                    #expect(error.code == .storageFailed && code != EINTR, "\(name)")
                }
                #expect(Files.descriptors(below: temporary.path(name)).isEmpty, "\(name)")
                faulty.mend()
                let fixture = StoreFixture(temporary: temporary, store: try open(name, faulty), name: name)
                #expect(try fixture.publish("a/c", .one) == .committed("a/c"), "\(name)")
            }
        }
    }
}
