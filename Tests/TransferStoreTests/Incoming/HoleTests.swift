import CLinux
import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Holes read as zeros and use no space, whatever was written there before.
@Suite struct HoleTests {
    /// The size is not a multiple of any page size.
    private static let size = 3 << 20 | 4321
    private static let content = SplitMix64.bytes(seed: 5, size)

    /// Ranges at the front, at the end, within a page and across pages; the whole file, and a single page.
    private static let ranges: [Range<Int>] = [
        0..<1_000_000, 2_000_000..<size, 0..<size, 5000..<6000, 4095..<1 << 20 | 1, 4096..<8192, size - 1..<size,
    ]

    private static func cleared(_ content: [UInt8], _ ranges: [Range<Int>]) -> [UInt8] {
        var content = content
        for range in ranges { content.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count)) }
        return content
    }

    private func write(_ bytes: [UInt8], _ staged: StagedFile, at offset: Int = 0) throws {
        try bytes.withUnsafeBytes { try staged.write($0, at: UInt64(offset)) }
    }

    private func clear(_ range: Range<Int>, _ staged: StagedFile) throws {
        try staged.clear(UInt64(range.lowerBound)..<UInt64(range.upperBound))
    }

    private func publish(_ staged: StagedFile, _ content: [UInt8], _ fixture: StoreFixture) throws {
        let publication = Publication(
            staged: staged, id: .random(), path: try RelativePath("a"), size: UInt64(content.count),
            digest: content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
        #expect(fixture.publish([publication]) == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == content)
    }

    private func space(_ fixture: StoreFixture) throws -> Int {
        var status = stat()
        try system("stat") { stat(fixture.path("a"), &status) }
        return status.st_blocks * 512
    }

    /// A part with other bytes: a new one, or one that an earlier attempt has begun, also with reserved space.
    private func part(_ fixture: StoreFixture, reserved: Bool?) throws -> StagedFile {
        guard let reserved else {
            let new = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
            try write([UInt8](repeating: 7, count: Self.size), new)
            return new
        }
        let id = UploadID.random()
        let first = try fixture.store.resume(id: id, size: reserved ? UInt64(Self.size) : nil)
        try write([UInt8](repeating: 7, count: Self.size), first)
        return try fixture.store.resume(id: id, size: reserved ? UInt64(Self.size) : nil)
    }

    /// Whether the file is in memory; otherwise it is on the file system that the tests run on.
    private static let places = [true, false]

    private static func fixture(inMemory: Bool) throws -> StoreFixture {
        let temporary = try TemporaryDirectory(prefersMemory: inMemory)
        let store = try FileStore(path: temporary.path("store"))
        return StoreFixture(temporary: temporary, store: store, name: "store")
    }

    @Test(arguments: ranges, places) func aHoleIsLeftInWhatIsNew(_ range: Range<Int>, inMemory: Bool) throws {
        let fixture = try Self.fixture(inMemory: inMemory)
        let staged = try fixture.store.stage(id: .random(), size: UInt64(Self.size), permissions: nil)
        try write(Array(Self.content[..<range.lowerBound]), staged)
        try clear(range, staged)
        try write(Array(Self.content[range.upperBound...]), staged, at: range.upperBound)
        try publish(staged, Self.cleared(Self.content, [range]), fixture)
        #expect(try space(fixture) <= Self.size - range.count + 3 * 4096)
    }

    @Test(arguments: ranges, [nil, false, true])
    func whatWasThereIsGone(_ range: Range<Int>, reserved: Bool?) throws {
        for inMemory in Self.places {
            let fixture = try Self.fixture(inMemory: inMemory)
            let staged = try part(fixture, reserved: reserved)
            try write(Self.content, staged)
            try clear(range, staged)
            try publish(staged, Self.cleared(Self.content, [range]), fixture)
            #expect(try space(fixture) <= Self.size - range.count + 3 * 4096)
        }
    }

    /// The space of a long upload is reserved behind its end, which is still at the front.
    @Test func roomThatIsReservedIsGivenBack() throws {
        let size = 3 * Limits.blockSize
        let fixture = try Self.fixture(inMemory: false)
        let staged = try fixture.store.stage(id: .random(), size: UInt64(size), permissions: nil)
        try clear(0..<size - 4096, staged)
        try write([UInt8](repeating: 1, count: 4096), staged, at: size - 4096)
        try publish(
            staged, [UInt8](repeating: 0, count: size - 4096) + [UInt8](repeating: 1, count: 4096), fixture)
        #expect(try space(fixture) <= 4 * 4096)
    }

    @Test func dataMayComeWhereAHoleWas() throws {
        let fixture = try StoreFixture()
        let staged = try fixture.store.resume(id: .random(), size: UInt64(Self.size))
        try clear(0..<Self.size, staged)
        try write(Array(Self.content[5000..<9000]), staged, at: 5000)
        var content = [UInt8](repeating: 0, count: Self.size)
        content.replaceSubrange(5000..<9000, with: Self.content[5000..<9000])
        try publish(staged, content, fixture)
    }

    /// On a file system without holes, the zeros are written.
    @Test(arguments: [EOPNOTSUPP, ENOSYS, EPERM]) func withoutHolesThereAreZeros(_ code: Int32) throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), script: script)
        let staged = try part(fixture, reserved: false)
        script.start(fixture.root)
        script.fail("clear", with: code)
        try write(Self.content, staged)
        try clear(4095..<Self.size, staged)
        #expect(script.failed == ["clear"])
        try publish(staged, Self.cleared(Self.content, [4095..<Self.size]), fixture)
    }

    @Test(arguments: [("clear", EIO, ResultCode.storageFailed), ("truncate", ENOSPC, .insufficientStorage)])
    func aFailureIsTold(_ call: String, _ code: Int32, _ expected: ResultCode) throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), script: script)
        let staged = try fixture.store.resume(id: .random(), size: UInt64(2 * Limits.blockSize))
        script.start(fixture.root)
        script.fail(call, with: code)
        let error = #expect(throws: Failure.self) { try clear(0..<Self.size, staged) }
        #expect(error?.code == expected && error?.message.hasPrefix("Could not leave a hole in the content: ") == true)
        // Without the fault, the same call succeeds.
        try clear(0..<Self.size, staged)
        try publish(staged, [UInt8](repeating: 0, count: Self.size), fixture)
    }

    @Test(arguments: [UInt64(Int64.max) + 1, .max]) func noFileIsSoLong(_ end: UInt64) throws {
        let fixture = try StoreFixture()
        let staged = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
        let error = #expect(throws: Failure.self) { try staged.clear(end - 1..<end) }
        #expect(error?.code == .uploadTooLarge)
    }

    /// A hole that makes the file longer must not remove bytes that another thread has just written behind it.
    @Test func severalAtOnceLoseNothing() throws {
        let fixture = try Self.fixture(inMemory: true)
        for _ in 0..<20 {
            let staged = try fixture.store.resume(id: .random(), size: nil)
            let step = 64 << 10
            inParallel(on: 4, 64) { number in
                let range = number * step..<(number + 1) * step
                #expect(throws: Never.self) {
                    if number.isMultiple(of: 2) {
                        try clear(range, staged)
                    } else {
                        try write([UInt8](repeating: UInt8(number), count: step), staged, at: range.lowerBound)
                    }
                }
            }
            #expect(staged.length == UInt64(64 * step))
            for number in 0..<64 {
                var byte: UInt8 = 99
                _ = try withUnsafeMutableBytes(of: &byte) { try staged.read(into: $0, at: UInt64(number * step + 77)) }
                #expect(byte == (number.isMultiple(of: 2) ? 0 : UInt8(number)))
            }
            staged.discard()
        }
    }

    // MARK: Room

    /// More than any disk has; only a little of it is data.
    private static let vast: UInt64 = 15 << 40

    @Test func onlyWhatIsFilledNeedsRoom() throws {
        let fixture = try Self.fixture(inMemory: false)
        let whole = #expect(throws: Failure.self) {
            _ = try fixture.store.stage(id: .random(), size: Self.vast, permissions: nil)
        }
        #expect(whole?.code == .insufficientStorage)
        let staged = try fixture.store.stage(id: .random(), size: Self.vast, filled: 1 << 20, permissions: nil)
        #expect(staged.disk.space(of: staged) == 0)
        let part = try fixture.store.resume(id: .random(), size: Self.vast, filled: 1 << 20)
        #expect(part.disk.space(of: part) == 0)
        // The declared data has to fit, and counts for no more than the size.
        let filled = #expect(throws: Failure.self) {
            _ = try fixture.store.resume(id: .random(), size: Self.vast, filled: .max)
        }
        #expect(filled?.code == .insufficientStorage)
        _ = try fixture.store.stage(id: .random(), size: 5 << 20, filled: .max, permissions: nil)
    }

    /// The limit on free space is compared with the data only; a quota counts every byte of the size, as `ls` shows it.
    @Test func limitsHold() throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 100 << 20))
        _ = try store.stage(id: .random(), size: 60 << 20, filled: 1, permissions: nil)
        let staged = try store.stage(id: .random(), size: 60 << 20, filled: 1, permissions: nil)
        try staged.clear(0..<60 << 20)
        let error = #expect(throws: Failure.self) {
            _ = try store.resume(id: .random(), size: 101 << 20, filled: 0)
        }
        #expect(error?.code == .quotaExceeded)
        let endless = try store.stage(id: .random(), size: nil, permissions: nil)
        #expect(throws: Failure.self) { try endless.clear(0..<101 << 20) }
    }
}

extension Disk {
    fileprivate func space(of staged: StagedFile) -> UInt64? { (try? status(staged.number))?.space }
}
