import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// Each system call fails in turn while an upload is resumed.
@Suite struct FaultyResumeTests {
    private static let fileSystem = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let block = Limits.blockSize
    private static let tail = 5000

    /// Most bytes of the first block are zero, so most of the block is a hole.
    private static let content: [UInt8] = {
        var content = [UInt8](repeating: 0, count: block)
        content.put(SplitMix64.bytes(seed: 41, 4096), at: 0)
        return content + SplitMix64.bytes(seed: 42, tail)
    }()

    private static let firstDigest = content[..<block].withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }

    private static let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }

    private let id = UploadID.random()

    /// A store with the first block of the upload, and with bytes behind its end that an earlier attempt left.
    private func prepare(_ script: ScriptedDisk) throws -> StoreFixture {
        let fixture = try StoreFixture(fileSystem: Self.fileSystem, script: script)
        let part = fixture.path(".transfer/incoming/\(id).part")
        try Files.write(Array(Self.content[..<4096]), to: part)
        try Files.check("truncate", truncate(part, off_t(Self.content.count + 100)))
        return fixture
    }

    /// Asks which blocks are stored, writes the missing ones, and publishes the file.
    ///
    /// - Parameter script: records the acknowledgement.
    /// - Returns: number of blocks that were found.
    private func resume(_ fixture: StoreFixture, acknowledging script: ScriptedDisk? = nil) throws -> Int {
        let size = UInt64(Self.content.count)
        let staged = try fixture.store.resume(id: id, size: size)
        var found: [SurveyedBlock] = []
        try staged.digestBlocks(of: size, .xxh128, threads: 1) { found += $0 }
        let hasFirst = found.contains { $0.index == 0 && $0.digest == Self.firstDigest.bytes }
        let start = hasFirst ? Self.block : 0
        try Self.content[start...].withUnsafeBytes { bytes in try staged.write(bytes, at: UInt64(start)) }
        try staged.trim(to: size)
        let publication = Publication(
            staged: staged, id: id, path: try RelativePath("a"), size: size, digest: Self.digest, conflict: .keepBoth,
            modified: nil, permissions: nil)
        _ = try fixture.publish([publication])[0].get()
        script?.acknowledge("a", Self.content)
        return hasFirst ? 1 : 0
    }

    /// The server that resumes the upload after the failure.
    enum Retry: CaseIterable {
        case sameServer
        case restartedServer
    }

    @Test(arguments: Retry.allCases) func everyCallFails(then retry: Retry) throws {
        let counting = ScriptedDisk()
        let fixture = try prepare(counting)
        counting.start()
        #expect(try resume(fixture) == 1)
        var failed: Set<String> = []
        for code in FaultyDiskTests.codes.keys.sorted() + [EINTR] {
            for call in 0..<counting.count {
                let script = ScriptedDisk()
                let fixture = try prepare(script)
                script.start(fixture.root, fault: ScriptedDisk.Fault(call: call, kind: .error(code)))
                try check(fixture, script, code, retry, "call \(call), error \(code), \(retry)")
                failed.formUnion(script.failed)
            }
        }
        #expect(failed.isSuperset(of: ["examine", "seek", "read", "truncate", "write", "reserve", "sync"]))
    }

    /// The server dies in each call in turn.
    @Test func everyCallIsTheLast() throws {
        let counting = ScriptedDisk()
        let whole = try prepare(counting)
        counting.start()
        #expect(try resume(whole) == 1)
        for call in 0..<counting.count {
            let script = ScriptedDisk()
            let dead = try prepare(script)
            script.start(dead.root, fault: ScriptedDisk.Fault(call: call, kind: .death))
            _ = try? resume(dead)
            script.mend()
            let context = "call \(call): \(script.failed)"
            let fixture = try dead.restarted(on: script.disk)
            let hasSynced = script.recording?.effects.contains { $0.isFailedSync } ?? false
            // The client need not have verified blocks any more, also when the server has died in a sync, or after it
            // has published the file.
            #expect(try resume(fixture, acknowledging: script) == 1, "\(context)")
            #expect(Files.read(fixture.path("a")) == Self.content, "\(context)")
            #expect(fixture.visible == ["a"] && fixture.parts.isEmpty, "\(context)")
            if hasSynced { try checkMedium(script, context) }
        }
    }

    /// The acknowledged content is on the disk, and not only in memory.
    private func checkMedium(_ script: ScriptedDisk, _ context: String) throws {
        let recording = try #require(script.recording)
        let seed = Seeds.one
        var check = CrashCheck(recording, bound: 2, seed: seed)
        check.check(at: recording.effects.count)
        #expect(check.violations.isEmpty, "\(context), seed \(seed)")
    }

    private func check(
        _ fixture: StoreFixture, _ script: ScriptedDisk, _ code: Int32, _ retry: Retry, _ context: String
    ) throws {
        let context = "\(context): \(script.failed)"
        do {
            let found = try resume(fixture)
            // A block that cannot be read counts as missing.
            #expect(found == 1 || code != EINTR, "\(context)")
        } catch let error as Failure {
            #expect(error.code == FaultyDiskTests.codes[code], "\(context)")
            // If a sync fails after the file has its name, the file is complete.
            let isWhole =
                script.failed.contains { $0.hasPrefix("sync") } && Files.read(fixture.path("a")) == Self.content
            #expect(fixture.visible.isEmpty || isWhole, "\(context)")
        }
        let held = Files.descriptors(below: fixture.path(".transfer/incoming")).count - script.heldCount
        #expect(held <= 1, "\(context)")
        script.mend()
        let fixture = retry == .sameServer ? fixture : try fixture.restarted(on: script.disk)
        // A failed sync leaves no block to compare with, unless the file has its name: then its bytes are written to
        // another file.
        let isLost = script.failed.contains("sync")
        let isPublished = fixture.visible == ["a"]
        #expect(throws: Never.self, "\(context)") {
            let found = try resume(fixture, acknowledging: script)
            #expect(found == 0 || !isLost || isPublished, "\(context)")
        }
        if isLost { try checkMedium(script, context) }
        #expect(Files.read(fixture.path("a")) == Self.content, "\(context)")
        #expect(fixture.visible == ["a"] && fixture.parts.isEmpty, "\(context)")
        #expect(try fixture.publish("b", .one) == .committed("b"), "\(context)")
    }

    /// If space is limited and the store is in memory, resuming first looks up how much space the part already uses.
    @Test(arguments: ["open", "open", "open", "open", "examine"].enumerated().map { ($0.offset + 1, $0.element) })
    func aPartThatCannotBeLookedAtIsNotGoneOnWith(call: Int, name: String) throws {
        let script = ScriptedDisk()
        let temporary = try TemporaryDirectory(prefersMemory: true)
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, limits: SpaceLimits(quota: 64 << 20, minimumFree: 1),
            fileSystem: Self.fileSystem, disk: script.disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        let before = store.space?.used
        script.start(fault: ScriptedDisk.Fault(call: call, kind: .error(EIO)))
        #expect(throws: Failure.self) { try store.resume(id: id, size: UInt64(Self.content.count)) }
        #expect(script.failed == [name])
        #expect(store.space?.used == before)
        script.mend()
        #expect(try resume(fixture) == 0)
    }
}
