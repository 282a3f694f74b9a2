import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// The server promises nothing that its store cannot do.
@Suite struct StoreAbilitiesTests {
    private static let block = UInt64(Limits.blockSize)
    private static let content = SplitMix64.bytes(seed: 9, 2 * Limits.blockSize + 3)

    private let id = UploadID.random()

    /// Sends one part of the content.
    private func send(
        _ range: Range<UInt64>, _ session: IntakeSession, total: UInt64? = UInt64(content.count)
    ) -> ResultCode {
        let part = UploadIntent.part(
            of: id, "a", offset: range.lowerBound, size: UInt64(range.count), total: total)
        return session.send(part, Array(Self.content[Int(range.lowerBound)..<Int(range.upperBound)])).code
    }

    private func end(_ session: IntakeSession, size: UInt64 = UInt64(content.count)) -> ResultCode {
        session.send(UploadIntent(id: id, path: "a", size: size, extent: .multipart), end: DeclaredEnd()).code
    }

    @Test func aStoreThatWritesInOrderTakesPartsInOrder() throws {
        let fixture = try PromisingIntake(abilities: StoreAbilities(writesAnywhere: false))
        let session = fixture.session()
        let parts = [0..<Self.block, Self.block..<2 * Self.block, 2 * Self.block..<UInt64(Self.content.count)]
        #expect(send(parts[1], session) == .incomplete)
        #expect(send(parts[0], session) == .staged)
        #expect(send(parts[2], session) == .incomplete)
        #expect(end(session) == .incomplete)
        #expect(send(parts[1], session) == .staged && send(parts[2], session) == .staged)
        #expect(end(session) == .committed)
        #expect(fixture.size("a") == UInt64(Self.content.count))
    }

    @Test func aStoreOfLargePartsTakesAShortOneAtTheEndAlone() throws {
        let fixture = try PromisingIntake(abilities: StoreAbilities(leastPart: 2 * Self.block))
        let session = fixture.session()
        #expect(send(0..<Self.block, session) == .sizeMismatch)
        #expect(send(0..<2 * Self.block, session) == .staged)
        #expect(send(2 * Self.block..<UInt64(Self.content.count), session) == .staged)
        #expect(end(session) == .committed)
    }

    /// Verified uploads wait for others up to each limit of the store.
    @Test(arguments: [
        (StoreAbilities.Gathering(uploads: 3, bytes: 1 << 20, time: .seconds(3600)), 3),
        (StoreAbilities.Gathering(uploads: 100, bytes: 30, time: .seconds(3600)), 2),
        (StoreAbilities.Gathering(uploads: 100, bytes: 1 << 20, time: .seconds(0)), 1), (nil, 1),
    ])
    func uploadsAreGathered(_ gathering: StoreAbilities.Gathering?, most: Int) throws {
        var abilities = StoreAbilities()
        abilities.gathering = gathering
        let fixture = try PromisingIntake(abilities: abilities)
        let session = fixture.session()
        #expect(!session.pipeline.canGather)
        for number in 1...most {
            let intent = UploadIntent(id: .random(), path: "\(number)", size: 20)
            #expect(try session.bring(intent, Array(repeating: 7, count: 20)) == nil)
            #expect(session.pipeline.canGather == (number < most))
        }
        #expect(session.publish().hasPublished && !session.pipeline.canGather)
        let again = UploadIntent(id: .random(), path: "again", size: 0)
        #expect(try session.bring(again, []) == nil && session.pipeline.canGather == (most > 1))
    }

    /// If a stream could go on after a short part, the store would learn too late that another part follows.
    @Test func aShortPartOfAStreamEndsIt() throws {
        let fixture = try PromisingIntake(abilities: StoreAbilities(leastPart: 2 * Self.block))
        let session = fixture.session()
        #expect(send(0..<Self.block, session, total: nil) == .staged)
        #expect(send(Self.block..<2 * Self.block, session, total: nil) == .contentMismatch)
        #expect(end(session, size: Self.block) == .committed)
        #expect(fixture.size("a") == Self.block)
    }

    @Test func aStoreWithoutPiecesTakesWholeBlocks() throws {
        var abilities = StoreAbilities()
        abilities.takesPieces = false
        let fixture = try PromisingIntake(abilities: abilities)
        let session = fixture.session()
        #expect(!fixture.intake.takesPieces)
        #expect(send(0..<Self.block / 2, session) == .sizeMismatch)
        #expect(send(0..<2 * Self.block, session) == .staged)
        #expect(send(2 * Self.block..<UInt64(Self.content.count), session) == .staged)
        #expect(end(session) == .committed)
    }

    /// The server limits the uploads of a publication if the store needs descriptors for them. Otherwise the store sets
    /// the limit.
    @Test(arguments: [nil, 2]) func soManyUploadsArePublishedTogether(_ count: Int?) throws {
        var abilities = StoreAbilities()
        abilities.uploadsAtOnce = count
        let fixture = try PromisingIntake(abilities: abilities)
        #expect(fixture.intake.filesAtOnce == count ?? 64)
        let session = fixture.session()
        for number in 0..<2 {
            #expect(!session.hasMuchVerified)
            let begun = session.begin(UploadIntent(id: .random(), path: "\(number)", size: 0), mayEnd: false)
            #expect(try session.finish(begun.upload, DeclaredEnd()) == nil)
        }
        #expect(session.hasMuchVerified == (count != nil))
    }

    /// An upload that another server has acknowledged is found in the records of a shared store.
    @Test(arguments: [false, true]) func whatAnotherServerHasAcknowledgedIsFound(isShared: Bool) throws {
        var abilities = StoreAbilities()
        abilities.isShared = isShared
        let fixture = try PromisingIntake(abilities: abilities)
        let other = fixture.another(abilities)
        for intake in [fixture.intake, other] { intake.known.load() }
        let intent = UploadIntent(id: id, path: "a", size: 1, conflict: .fail)
        #expect(fixture.session().send(intent, [1]).code == .committed)
        fixture.remove("a")
        #expect((other.known.entry(for: id) != nil) == isShared)
        #expect((other.known.entries(for: [id])[0] != nil) == isShared)
    }
}
