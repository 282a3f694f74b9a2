import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Space that one upload releases is never taken from another upload.
@Suite struct SpaceHoldTests {
    private let fixture: StoreFixture
    private let client = Quota(limit: 100) { limit, room in
        "\(limit) \(room)"
    } count: { _ in
        Quota.Count(stored: 0)
    }

    init() throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 100))
        fixture = StoreFixture(temporary: temporary, store: store, name: "store")
    }

    /// Space that the server and the client have in use.
    private var used: [UInt64?] { [fixture.store.space?.used, client.used] }

    private func stage(_ size: UInt64) throws -> StagedFile {
        try fixture.store.stage(id: .random(), size: size, permissions: nil, quota: client)
    }

    @Test func whatIsThrownAwayTwiceIsGivenBackOnce() throws {
        let other = try stage(6)
        let staged = try stage(4)
        #expect(used == [10, 10])
        staged.discard()
        staged.discard()
        #expect(used == [6, 6])
        withExtendedLifetime(other) {}
    }

    @Test func whatIsPublishedIsNotGivenBackAgain() throws {
        let other = try stage(6)
        var publication: Publication? = try fixture.publication("a", .six)
        publication?.content = try stage(6)
        try [UInt8].six.withUnsafeBytes { bytes in try publication?.staged.write(bytes, at: 0) }
        #expect(used == [12, 12])
        let staged = try #require(publication)
        #expect(fixture.publish([staged]) == [.success(.committed(staged.path))])
        #expect(used == [12, 12])
        staged.staged.discard()
        publication = nil
        #expect(used == [12, 12])
        withExtendedLifetime(other) {}
    }

    @Test func partsGiveBackTheirOwn() throws {
        let other = try fixture.store.resume(id: .random(), size: 6, quota: client)
        let staged = try fixture.store.resume(id: .random(), size: 4, quota: client)
        #expect(used == [10, 10])
        staged.discard()
        staged.discard()
        #expect(used == [6, 6])
        withExtendedLifetime(other) {}
    }

    /// A part that is about to be synced has another name for a while.
    @Test func aPartThatIsWithdrawnStillCounts() throws {
        let id = UploadID.random()
        let staged = try fixture.store.resume(id: id, size: 4)
        try [UInt8].six[..<4].withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
        try staged.withdraw(id: id)
        #expect(fixture.parts.allSatisfy { StagedFile.upload(ofPart: $0) == nil })
        fixture.store.unlock()
        let next = try FileStore(path: fixture.root, limits: SpaceLimits(quota: 100))
        #expect(try #require(next.space?.used) >= 4)
        _ = try next.removeLeftovers()
        #expect(try #require(next.space?.used) >= 4)
        try next.removePart(id)
        #expect(next.space?.used == 0)
        withExtendedLifetime(staged) {}
    }

    /// A power cut can leave both names of a rename.
    @Test func aPartThatHasItsOldNameStillCounts() throws {
        let id = UploadID.random()
        let staged = try fixture.store.resume(id: id, size: 4)
        try [UInt8].six[..<4].withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
        try staged.link(into: fixture.store.incoming.directory, as: StagedFile.withdrawnName(id, 0))
        fixture.store.unlock()
        let next = try FileStore(path: fixture.root, limits: SpaceLimits(quota: 100))
        #expect(try next.removeLeftovers().count == 1)
        #expect(try #require(next.space?.used) >= 4)
        try next.removePart(id)
        #expect(next.space?.used == 0)
        withExtendedLifetime(staged) {}
    }

    /// A file that was published under another name, and kept its old name after a power cut, is no longer a part.
    @Test func whatLosesItsNameIsGivenBackAlsoWhenNoPartFollows() throws {
        let id = UploadID.random()
        let staged = try fixture.store.resume(id: id, size: 4)
        try [UInt8].six[..<4].withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
        try Files.check(
            "link", link(fixture.path(".transfer/incoming/\(id).part"), fixture.temporary.path("published")))
        fixture.store.unlock()
        let next = try FileStore(path: fixture.root, limits: SpaceLimits(quota: 100))
        #expect(try #require(next.space?.used) >= 4)
        next.incoming.parts.store(UnfinishedContent.mostParts + 1, ordering: .relaxed)
        #expect(throws: Failure.self) { try next.resume(id: id, size: 4) }
        #expect(next.space?.used == 0)
        withExtendedLifetime(staged) {}
    }
}
