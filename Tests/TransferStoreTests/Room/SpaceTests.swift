import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite struct SpaceTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
    }

    private func fixture(quota: UInt64? = nil, minimumFree: UInt64? = nil) throws -> StoreFixture {
        let limits = SpaceLimits(quota: quota, minimumFree: minimumFree)
        let store = try FileStore(path: temporary.path("store"), limits: limits)
        return StoreFixture(temporary: temporary, store: store, name: "store")
    }

    private func code(_ body: () throws -> Void) -> ResultCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? Failure)?.code
        }
    }

    @Test func whatIsThereCountsFromTheStart() throws {
        try Files.makeDirectory(temporary.path("store"))
        try Files.makeDirectory(temporary.path("store/d"))
        try Files.write([1, 2, 3], to: temporary.path("store/d/a"))
        let fixture = try fixture(quota: 5)
        #expect(fixture.store.space?.used == 3)
        #expect(try fixture.failure("b", [1, 2, 3]) == .quotaExceeded)
        #expect(try fixture.failure("b", [1, 2]) == nil)
        #expect(fixture.store.space?.used == 5)
        #expect(try fixture.failure("c", []) == nil)
        #expect(try fixture.failure("c", [1]) == .quotaExceeded)
        #expect(fixture.visible == ["b", "c", "d/", "d/a"])
    }

    /// Mail that waits for its recipient counts like stored files, and its removal releases the space.
    @Test func whatIsInMailboxesCountsFromTheStart() throws {
        let path = RelativePath.mail(.random())
        do {
            let fixture = try fixture(quota: 9)
            var publication = try fixture.publication("x", [1, 2, 3])
            publication.path = path
            #expect(fixture.publish([publication]) == [.success(.committed(path))])
            #expect(fixture.store.space?.used == 3)
            try fixture.publish("a", [1, 2])
            fixture.store.unlock()
        }
        let fixture = try fixture(quota: 9)
        #expect(fixture.store.space?.used == 5)
        #expect(try fixture.failure("b", [1, 2, 3, 4, 5]) == .quotaExceeded)
        fixture.store.removeMail([path])
        #expect(fixture.store.space?.used == 2)
        #expect(fixture.visible == ["a"])
    }

    /// A server counts the parts of an earlier server by their space on the disk, which is more than the clients asked
    /// for.
    @Test func whatWasFoundAtTheStartIsGivenBackToo() throws {
        let id = UploadID.random()
        do {
            let fixture = try fixture(quota: 1 << 20)
            let staged = try fixture.store.resume(id: id, size: 8206)
            try [UInt8](repeating: 1, count: 2560).withUnsafeBytes { try staged.write($0, at: 4096) }
            fixture.store.unlock()
        }
        let fixture = try fixture(quota: 1 << 20)
        #expect(fixture.store.space?.used == fixture.store.part(id)?.size)
        try fixture.store.resume(id: id, size: nil).giveBackRoom()
        #expect(fixture.store.space?.used == fixture.store.part(id)?.size)
    }

    @Test func uploadsOnTheirWayCannotPassItTogether() throws {
        let fixture = try fixture(quota: 10)
        var first: StagedFile? = try fixture.store.stage(id: .random(), size: 6, permissions: nil)
        #expect(code { _ = try fixture.store.stage(id: .random(), size: 5, permissions: nil) } == .quotaExceeded)
        let second = try fixture.store.stage(id: .random(), size: 4, permissions: nil)
        #expect(fixture.store.space?.used == 10)
        withExtendedLifetime(first) {}
        first = nil
        #expect(fixture.store.space?.used == 4)
        second.discard()
        second.discard()
        #expect(fixture.store.space?.used == 0)
    }

    @Test func unknownSizesStopOnTheWay() throws {
        let fixture = try fixture(quota: 10)
        let staged = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
        try [UInt8](repeating: 1, count: 8).withUnsafeBytes { try staged.write($0, at: 0) }
        #expect(fixture.store.space?.used == 8)
        let more = code { try [UInt8](repeating: 1, count: 3).withUnsafeBytes { try staged.write($0, at: 8) } }
        #expect(more == .quotaExceeded)
        staged.discard()
        #expect(fixture.store.space?.used == 0)
    }

    @Test func whatIsReplacedCountsNoMore() throws {
        let fixture = try fixture(quota: 100)
        try fixture.publish("a", .six)
        try fixture.publish("a", .one, .overwrite)
        #expect(fixture.store.space?.used == 3)
        // The same content again, and an upload that is skipped.
        try fixture.publish("a", .one)
        try fixture.publish("a", .two, .skip)
        #expect(try fixture.failure("a", .two, .fail) == .pathConflict)
        #expect(fixture.store.space?.used == 3)
        try fixture.publish("a", .two, asPart: true)
        #expect(fixture.store.space?.used == 6)
        #expect(fixture.visible == ["a", "a-1"])
    }

    /// The target of a link never counted, however long it is.
    @Test func aLinkThatIsReplacedGivesNothingBack() throws {
        let fixture = try fixture(quota: 3)
        try fixture.publish("a", [1, 2])
        symlink("abcdefgh", fixture.path("b"))
        try fixture.publish("b", [3], .overwrite)
        #expect(fixture.store.space?.used == 3)
        #expect(try fixture.failure("c", [4]) == .quotaExceeded)
    }

    @Test func partsStayCounted() throws {
        let id = UploadID.random()
        let size: UInt64 = 1 << 20
        do {
            let fixture = try fixture(quota: 3 << 20)
            _ = try fixture.store.resume(id: id, size: size)
            #expect(fixture.store.space?.used == size)
            _ = try fixture.store.resume(id: id, size: size)
            #expect(fixture.store.space?.used == size)
            #expect(code { _ = try fixture.store.resume(id: .random(), size: 3 * size) } == .quotaExceeded)
            #expect(fixture.parts.count == 1)
            fixture.store.unlock()
        }
        let fixture = try fixture(quota: 3 << 20)
        let staged = try fixture.store.resume(id: id, size: size)
        #expect(fixture.store.space?.used == size)
        try [UInt8](repeating: 0, count: 5).withUnsafeBytes { try staged.write($0, at: 0) }
        _ = try fixture.store.removeUnfinished(where: { _ in true }, unless: { _ in false })
        #expect(fixture.store.space?.used == 0)
    }

    @Test func uploadsThatWouldLeaveTooLittleAreRefused() throws {
        let fixture = try fixture(minimumFree: .max)
        #expect(try fixture.failure("a", .one) == .insufficientStorage)
        let size = UInt64(Limits.blockSize) + 1
        #expect(
            code { _ = try fixture.store.stage(id: .random(), size: size, permissions: nil) } == .insufficientStorage)
        #expect(code { _ = try fixture.store.resume(id: .random(), size: size) } == .insufficientStorage)
        #expect(fixture.parts.isEmpty && fixture.visible.isEmpty)
        let staged = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
        let step = [UInt8](repeating: 1, count: Int(StagedFile.writeBackStep))
        #expect(code { try step.withUnsafeBytes { try staged.write($0, at: 0) } } == .insufficientStorage)
    }

    /// The disk has enough space for the upload, but not together with the space that must stay free.
    @Test func whatIsReservedLeavesWhatHasToStayFree() throws {
        guard let disk = SmallFileSystem(temporary.path("disk"), size: "24m") else { return }
        let store = try FileStore(path: "\(disk.path)/store", limits: SpaceLimits(minimumFree: 8 << 20))
        #expect(code { _ = try store.resume(id: .random(), size: 18 << 20) } == .insufficientStorage)
        #expect(code { _ = try store.resume(id: .random(), size: 12 << 20) } == nil)
    }

    /// The trash has to release as much as the upload reserves, and not only the space that must stay free.
    @Test func theTrashGivesWayToWhatIsReserved() throws {
        guard let disk = SmallFileSystem(temporary.path("disk"), size: "24m") else { return }
        let store = try FileStore(path: "\(disk.path)/store", limits: SpaceLimits(minimumFree: 8 << 20))
        let old = "\(disk.path)/old"
        try Files.write([UInt8](repeating: 1, count: 8 << 20), to: old)
        store.whenFull { _ in unlink(old) == 0 }
        #expect(code { _ = try store.resume(id: .random(), size: 12 << 20) } == nil)
    }

    @Test func thereIsEnoughRoom() throws {
        let fixture = try fixture(minimumFree: 1)
        try fixture.publish("a", .one)
        _ = try fixture.store.stage(id: .random(), size: UInt64(Limits.blockSize) + 1, permissions: nil)
        #expect(fixture.visible == ["a"])
    }
}
