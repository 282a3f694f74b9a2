import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// What a store cannot do, nobody is promised.
@Suite struct StoreAbilitiesTests {
    private static let block = UInt64(Limits.blockSize)
    private static let content = SplitMix64.bytes(seed: 9, 2 * Limits.blockSize + 3)

    private let id = UploadID.random()

    /// Sends a part of the content.
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

    /// Otherwise the store would hear of the next one when it is too late.
    @Test func aShortPartOfAStreamEndsIt() throws {
        let fixture = try PromisingIntake(abilities: StoreAbilities(leastPart: 2 * Self.block))
        let session = fixture.session()
        #expect(send(0..<Self.block, session, total: nil) == .staged)
        #expect(send(Self.block..<2 * Self.block, session, total: nil) == .contentMismatch)
        #expect(end(session, size: Self.block) == .committed)
        #expect(fixture.size("a") == Self.block)
    }
}
