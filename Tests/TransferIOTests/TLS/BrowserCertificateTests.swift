import Testing

@testable import TransferIO

@Suite struct BrowserCertificateTests {
    private static let now: Int64 = 1_800_000_000
    private static let names = ["localhost", "nas", "192.0.2.7", "2001:db8::1"]

    /// The signature contains the message, which is enough to tell owners and keys apart.
    private static func owner(_ mark: UInt8) -> BrowserCertificate.Owner {
        @Sendable func sign(_ message: [UInt8]) -> [UInt8] { Array(([mark] + message.reversed()).prefix(64)) }
        return .init(key: [UInt8](repeating: mark, count: 32), sign: sign) { $0 == sign($1) }
    }

    private func made(_ names: [String] = names, keyOf earlier: BrowserCertificate? = nil) throws -> BrowserCertificate
    {
        try BrowserCertificate(for: names, of: Self.owner(1), keyOf: earlier, at: Self.now)
    }

    @Test func isForItsNames() throws {
        let certificate = try made()
        let pair = try certificate.handles()
        for name in Self.names + ["2001:DB8:0::1"] { #expect(pair.covers(name), "\(name)") }
        for name in ["nas.local", "192.0.2.8", "example", ""] { #expect(!pair.covers(name), "\(name)") }
        #expect(certificate.fits(["nas"], of: Self.owner(1), at: Self.now))
        #expect(!certificate.fits(["other"], of: Self.owner(1), at: Self.now))
    }

    @Test func isReadAgain() throws {
        let certificate = try made()
        #expect(BrowserCertificate(pem: certificate.pem) == certificate)
        #expect(BrowserCertificate(pem: []) == nil)
        #expect(BrowserCertificate(pem: Array(certificate.pem.prefix(300))) == nil)
        let other = try made()
        let end = Array("-----END PRIVATE KEY-----\n".utf8)
        func parts(_ pem: [UInt8]) -> (ArraySlice<UInt8>, ArraySlice<UInt8>)? {
            pem.indices.first { pem[$0...].starts(with: end) }.map {
                (pem[..<($0 + end.count)], pem[($0 + end.count)...])
            }
        }
        let (own, foreign) = try (#require(parts(certificate.pem)), #require(parts(other.pem)))
        #expect(BrowserCertificate(pem: Array(own.0 + own.1)) == certificate)
        #expect(BrowserCertificate(pem: Array(own.0 + foreign.1)) == nil, "the key of another one")
    }

    /// GnuTLS refuses a certificate with a longer number in an object identifier.
    @Test func theNameOfTheExtensionHasShortNumbers() {
        let numbers = BrowserCertificate.extensionName.split(separator: ".")
        #expect(numbers.count > 2 && numbers.allSatisfy { UInt32($0) != nil })
    }

    @Test func lastsForAWhile() throws {
        let certificate = try made()
        let end = Self.now + BrowserCertificate.lifetime - BrowserCertificate.leeway
        for (time, fits) in [
            (Self.now, true), (Self.now - BrowserCertificate.leeway - 1, false),
            (end - BrowserCertificate.renewal - 1, true), (end - BrowserCertificate.renewal, false), (end, false),
        ] {
            #expect(certificate.fits([], of: Self.owner(1), at: time) == fits, "\(time - Self.now)")
        }
    }

    /// The certificate names its owner, and only the owner can sign that.
    @Test func isOneOwners() throws {
        let certificate = try made()
        #expect(!certificate.fits([], of: Self.owner(2), at: Self.now))
        let forged = BrowserCertificate.Owner(key: Self.owner(2).key, sign: Self.owner(1).sign) { _, _ in true }
        #expect(!certificate.fits([], of: forged, at: Self.now))
    }

    /// A certificate with another owner's key also needs that owner's signature.
    @Test func aBindingIsVerified() throws {
        #expect(TLSKey(identityOf: try made().handles().certificate) == nil)
    }

    @Test func theKeyStays() throws {
        let first = try made()
        let second = try made(["other"], keyOf: first)
        #expect(try first.handles().publicKey == second.handles().publicKey)
        #expect(first.fingerprint != second.fingerprint && second.fits(["other"], of: Self.owner(1), at: Self.now))
        #expect(try made().handles().publicKey != first.handles().publicKey)
    }

    /// OpenSSL parses names from a text, so a string that is not a name must not become another entry.
    @Test(arguments: ["a,DNS:evil.example", "a\nb", "email:copy", "", "höst", "*", "a b", "fe80::1%eth0", "@section"])
    func whatIsNoNameIsLeftOut(_ name: String) throws {
        let certificate = try made(["localhost", name])
        let pair = try certificate.handles()
        #expect(pair.covers("localhost") && !pair.covers("evil.example") && !pair.covers("a"))
        #expect(certificate.fits(["localhost", name], of: Self.owner(1), at: Self.now))
    }

    @Test func aCrowdOfNamesHasABound() throws {
        let names = (0..<1000).map { "name-\($0)" }
        let certificate = try made(names)
        #expect(certificate.fits(names, of: Self.owner(1), at: Self.now) && certificate.pem.count < 32 << 10)
        #expect(try certificate.handles().covers("name-63") && !certificate.handles().covers("name-64"))
    }
}
