import Testing
import TransferKeys
import TransferModel
import TransferSealing

@testable import TransferClient

@Suite struct SealingIdentityTests {
    private let sample: SealingSample

    init() throws {
        sample = try SealingSample()
    }

    private var own: SealingIdentity { sample.identity }

    @Test func whatIsPublishedIsNotPublishedAgain() throws {
        let list = SealingCertificate.list(try #require(own.introduction(to: [])))
        #expect(list.map(\.owner) == [own.key.key] && list.map(\.recipient) == [own.sealing.recipient])
        #expect(own.introduction(to: list) == nil)
    }

    @Test func othersOfTheSamePersonStay() throws {
        let other = SealingCertificate(try SealingKey().recipient, by: KeyPair(), at: .now)
        let list = SealingCertificate.list(try #require(own.introduction(to: [other])))
        #expect(list.count == 2 && list.contains(other))
        #expect(own.introduction(to: list) == nil)
    }

    /// Those who know the last one refuse an older one, whatever clock has said so.
    @Test func aNewKeyIsNewer() throws {
        let ahead = UTCTime.now.advanced(bySeconds: 1_000_000)
        let old = SealingCertificate(try SealingKey().recipient, by: own.key, at: ahead)
        let list = SealingCertificate.list(try #require(own.introduction(to: [old])))
        #expect(list.count == 1 && list[0].recipient == own.sealing.recipient && list[0].issued > ahead)
    }
}
