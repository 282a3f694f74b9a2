import Glibc
import Synchronization
import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// If room is needed, the server empties the trash: the oldest batches first, no more than necessary, and none in vain.
@Suite struct TrashRoomTests {
    private static func batch(_ number: UInt32) -> TrashBatch { TrashBatch(at: 0, number: number) }

    private static let size = 10_000

    private func content(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: Self.size + Int(byte)) }

    private func session(_ fixture: IntakeFixture, of name: String?, _ options: AccessOptions = AccessOptions())
        -> IntakeSession
    {
        name.map { fixture.session(of: $0, options) } ?? fixture.session()
    }

    private func upload(_ path: String, _ content: [UInt8], _ session: IntakeSession) throws -> ResultCode? {
        let intent = UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: .overwrite)
        do {
            return try session.bring(intent, content)?.code ?? session.outcomes().first?.code
        } catch let error as Failure {
            return error.code
        }
    }

    /// Puts each version of a file into a separate, numbered trash batch.
    private func part() -> OpenTrashBatch {
        let count = Atomic<UInt32>(0)
        return OpenTrashBatch(utc: { 0 }) { _ in Self.batch(count.wrappingAdd(1, ordering: .relaxed).newValue) }
    }

    private func batches(_ fixture: IntakeFixture) throws -> [String] {
        try fixture.store.trash(below: nil).map(\.name).sorted()
    }

    @Test func theOldestGoFirstAndNoMoreThanHasTo() throws {
        let fixture = try IntakeFixture(limits: SpaceLimits(quota: UInt64(6 * Self.size)))
        fixture.intake.giveWay(in: fixture.store)
        let session = session(fixture, of: nil)
        session.trash = part()
        for byte in 1...5 { #expect(try upload("a", content(UInt8(byte)), session) == .committed) }
        #expect(try batches(fixture) == (1...4).map { Self.batch(UInt32($0)).name })
        #expect(try upload("b", content(9), session) == .committed)
        // Six files, each slightly larger than `size`, exceed the quota of six times `size`.
        #expect(try batches(fixture) == (2...4).map { Self.batch(UInt32($0)).name })
        fixture.intake.known.index()
        let gone = RelativePath.trash(Self.batch(1), try RelativePath("a"))
        #expect(fixture.intake.known.entries(at: [gone.string])[0].isEmpty)
        #expect(try upload("c", [UInt8](repeating: 0, count: 2 * Self.size), session) == .committed)
        #expect(try batches(fixture) == [Self.batch(4).name])
        #expect(fixture.files == ["a", "b", "c"])
    }

    /// An upload that needs more than the whole trash would free is refused at once, and the trash stays.
    @Test func nothingGoesInVain() throws {
        let fixture = try IntakeFixture(limits: SpaceLimits(quota: UInt64(4 * Self.size)))
        fixture.intake.giveWay(in: fixture.store)
        let session = session(fixture, of: nil)
        session.trash = part()
        for byte in 1...3 { #expect(try upload("a", content(UInt8(byte)), session) == .committed) }
        let before = try batches(fixture)
        for _ in 0..<3 {
            #expect(try upload("b", [UInt8](repeating: 0, count: 4 * Self.size), session) == .quotaExceeded)
        }
        #expect(try batches(fixture) == before && before.count == 2)
    }

    /// Removing one name of a file that has another name frees no room.
    @Test func namesThatFreeNothingStay() throws {
        let fixture = try IntakeFixture(limits: SpaceLimits(quota: UInt64(3 * Self.size)))
        fixture.intake.giveWay(in: fixture.store)
        let session = session(fixture, of: nil)
        session.trash = part()
        for byte in 1...2 { #expect(try upload("a", content(UInt8(byte)), session) == .committed) }
        try linkFirst(fixture)
        #expect(try upload("b", content(3), session) == .quotaExceeded)
        #expect(try batches(fixture) == [Self.batch(1).name])
    }

    /// A name whose removal frees no room stays if a later trash batch frees enough room.
    @Test func namesThatFreeNothingArePassedOver() throws {
        let fixture = try IntakeFixture(limits: SpaceLimits(quota: UInt64(4 * Self.size)))
        fixture.intake.giveWay(in: fixture.store)
        let session = session(fixture, of: nil)
        session.trash = part()
        for byte in 1...3 { #expect(try upload("a", content(UInt8(byte)), session) == .committed) }
        try linkFirst(fixture)
        #expect(try upload("b", content(4), session) == .committed)
        #expect(try batches(fixture) == [Self.batch(1).name])
    }

    /// Gives the first version of the file another name.
    private func linkFirst(_ fixture: IntakeFixture) throws {
        let root = fixture.directory.path("store/")
        let place = RelativePath.trash(Self.batch(1), try RelativePath("a")).string
        #expect(link(root + place, root + "other") == 0)
    }

    @Test func nothingIsThere() throws {
        let fixture = try IntakeFixture(limits: SpaceLimits(quota: UInt64(Self.size)))
        fixture.intake.giveWay(in: fixture.store)
        #expect(try upload("a", content(1), session(fixture, of: nil)) == .quotaExceeded)
    }

    /// All clients share the descriptors, and the removed files may lie in any number of folders.
    @Test func fewFoldersAreOpenAtOnce() throws {
        let most = Locked(0)
        let directory = try TemporaryDirectory(prefersMemory: true)
        let trash = directory.path("store/.transfer/trash")
        let disk = Disk(interception: { call, body in
            if case .unlink = call { most.withLock { $0 = max($0, Self.descriptors(below: trash)) } }
            return body()
        })
        let fixture = try IntakeFixture(in: directory, disk: disk)
        fixture.intake.giveWay(in: fixture.store)
        var options = AccessOptions()
        options.quota = 1 << 23
        let session = session(fixture, of: "bob", options)
        session.trash = part()
        for byte in 1...2 as ClosedRange<UInt8> {
            for number in 0..<150 { #expect(try upload("d\(number)/a", content(byte), session) == .committed) }
        }
        let quota = try #require(fixture.intake.quotas.quota(for: session.caller.grant))
        let size = (options.quota ?? 0) - quota.used + UInt64(200 * Self.size)
        #expect(try upload("b", [UInt8](repeating: 0, count: Int(size)), session) == .committed)
        #expect((1..<70).contains(most.withLock { $0 }))
    }

    private static func descriptors(below path: String) -> Int {
        names(in: "/proc/self/fd").count { name in
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/fd/\(name)", &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
                .hasPrefix(path)
        }
    }

    /// Room in a client's quota is never made with files that count for other clients.
    @Test func othersKeepTheirs() throws {
        let fixture = try IntakeFixture()
        fixture.intake.giveWay(in: fixture.store)
        var options = AccessOptions()
        options.quota = UInt64(4 * Self.size) + 8 * QuotaPrice.file("bob/a")
        let (alice, bob) = (session(fixture, of: "alice"), session(fixture, of: "bob", options))
        let part = part()
        (alice.trash, bob.trash) = (part, part)
        for byte in 1...3 { #expect(try upload("alice/a", content(UInt8(byte)), alice) == .committed) }
        var stored = 0
        for byte in 1...20 where try upload("bob/a", content(UInt8(byte)), bob) == .committed { stored += 1 }
        #expect(stored == 20)
        let left = try batches(fixture)
        for number in 1...2 { #expect(left.contains(Self.batch(UInt32(number)).name)) }
        #expect(left.count < 10 && left.last == Self.batch(20).name)
        let quota = try #require(fixture.intake.quotas.quota(for: bob.caller.grant))
        #expect(quota.used <= options.quota ?? 0)
    }
}
