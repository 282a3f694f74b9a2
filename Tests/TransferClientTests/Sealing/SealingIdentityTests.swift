import Testing
import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

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

    /// A program that uses only the library makes its keys this way.
    @Test func keysAreMadeInAFolder() throws {
        let home = sample.home
        var configuration = ClientConfiguration()
        #expect(throws: TransferFailure.self) { try configuration.useSealing(in: home.path) }
        try configuration.showKey(in: home.path("key.pem"))
        try configuration.useSealing(in: home.path)
        let made = try #require(configuration.sealing)
        try configuration.useSealing(in: home.path)
        #expect(configuration.sealing?.sealing.recipient == made.sealing.recipient)
        #expect(made.key.key == configuration.key?.key && made.people.path == home.path("known_people"))
        #expect(names(in: home.path).sorted() == ["key.pem", "sealing.key"])
    }

    @Test func othersOfTheSamePersonStay() throws {
        let other = SealingCertificate(try SealingKey().recipient, by: KeyPair(), at: .now)
        let list = SealingCertificate.list(try #require(own.introduction(to: [other])))
        #expect(list.count == 2 && list.contains(other))
        #expect(own.introduction(to: list) == nil)
    }

    /// A new certificate is dated after the last one, even if the clock of the last one was ahead. Clients that know
    /// the last certificate would refuse an older one.
    @Test func aNewKeyIsNewer() throws {
        let ahead = UTCTime.now.advanced(bySeconds: 1_000_000)
        let old = SealingCertificate(try SealingKey().recipient, by: own.key, at: ahead)
        let list = SealingCertificate.list(try #require(own.introduction(to: [old])))
        #expect(list.count == 1 && list[0].recipient == own.sealing.recipient && list[0].issued > ahead)
    }
}
