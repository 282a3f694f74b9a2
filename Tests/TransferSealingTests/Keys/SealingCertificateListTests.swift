import Testing
import TransferKeys
import TransferModel

@testable import TransferSealing

@Suite struct SealingCertificateListTests {
    private func certificate(_ owner: UInt8, key: UInt8 = 9, at seconds: Int64 = 100) throws -> SealingCertificate {
        SealingCertificate(
            try Sample.key(key).recipient, by: try Sample.identity(owner), at: UTCTime(clamping: seconds))
    }

    @Test func comesBackInItsOrder() throws {
        let list = try (1...7).map { try certificate(UInt8($0)) }
        #expect(SealingCertificate.list(list.flatMap(\.encoded)) == list)
        #expect(SealingCertificate.list([]) == [])
        #expect(list.flatMap(\.encoded).count <= 1024)
    }

    @Test func ofOneIdentityTheNewestCounts() throws {
        let (old, new, other) = (try certificate(1, at: 5), try certificate(1, key: 8, at: 6), try certificate(2))
        #expect(SealingCertificate.list([old, other, new].flatMap(\.encoded)) == [new, other])
        #expect(SealingCertificate.list([new, old].flatMap(\.encoded)) == [new])
    }

    /// The list comes from a server, so invalid certificates are left out.
    @Test func whatIsNoneIsLeftOut() throws {
        let (first, second) = (try certificate(1), try certificate(2))
        for index in 0..<SealingCertificate.size {
            var bytes = first.encoded + second.encoded
            bytes[index] ^= 1
            #expect(SealingCertificate.list(bytes) == [second], "byte \(index)")
        }
        let cut = (first.encoded + second.encoded).dropLast()
        #expect(SealingCertificate.list(Array(cut)) == [first])
        let many = try (1...9).flatMap { try certificate(UInt8($0)).encoded }
        #expect(SealingCertificate.list(many).count == SealingCertificate.mostTogether)
    }

    @Test func replacesItsOwnAndKeepsTheOthers() throws {
        let others = try (1...7).map { try certificate(UInt8($0), at: Int64($0)) }
        let renewed = try certificate(3, key: 8, at: 50)
        let list = SealingCertificate.list(renewed.added(to: others))
        #expect(list.first == renewed && list.count == 7)
        #expect(Set(list.dropFirst()) == Set(others.filter { $0.owner != renewed.owner }))
        // The oldest certificate is dropped to make room for an eighth.
        let eighth = SealingCertificate.list(try certificate(8, at: 0).added(to: others))
        #expect(eighth.count == 7 && !eighth.contains(others[0]) && eighth.contains(others[1]))
    }
}
