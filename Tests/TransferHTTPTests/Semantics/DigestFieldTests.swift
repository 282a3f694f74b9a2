import Testing
import TransferHTTP

/// RFC 9530.
@Suite struct DigestFieldTests {
    private static func field(_ lines: String...) throws(HTTPFault) -> DigestField? {
        try DigestField(lines.map { Array($0.utf8) })
    }

    /// Digests of `{"hello": "world"}` and a line feed (appendix A and B.1).
    private static let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    private static let sha512 = """
        sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:
        """

    @Test func known() throws {
        let both = try #require(try Self.field("\(Self.sha256),\(Self.sha512)"))
        #expect(both.sha256?.count == 32 && both.sha512?.count == 64 && both.unknown.isEmpty)
        #expect(both.text == "\(Self.sha256), \(Self.sha512)")
        #expect(both[.sha256]?.first == 0x44 && both[.sha512]?.first == 0x60)
        #expect(try Self.field(Self.sha256, Self.sha512) == both)
        let one = try #require(try Self.field(Self.sha256))
        #expect(one.sha512 == nil && one.text == Self.sha256)
        #expect(DigestField(sha256: one.sha256) == one)
        #expect(DigestField().text.isEmpty)
        #expect(try Self.field() == nil)
    }

    /// Section 2: unknown algorithms are ignored; a caller that needs them can find them in `unknown`.
    @Test func unknown() throws {
        let field = try #require(try Self.field("md5=:1B2M2Y8AsgTpgAmY7PhCfg==:, \(Self.sha256), unixsum=:AA==:"))
        #expect(field.unknown == ["md5", "unixsum"] && field.sha256 != nil)
        #expect(try Self.field("sha=:AA==:")?.sha256 == nil)
    }

    static let refused: [(String, Comment)] = [
        ("", "nothing"), ("sha-256", "no value"), ("sha-256=RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=", "no colons"),
        ("sha-256=:AA==:", "one byte"), ("sha-256=::", "none"), ("sha-256=\"a\"", "a string"), ("md5=1", "a number"),
        ("sha-256=(:AA==:)", "a list"), ("sha-512=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", "32 bytes"),
        ("SHA-256=:AA==:", "large letters"), ("sha-256=:AA==:,", "a comma at the end"), ("sha-256=:A?==:", "no base64"),
    ]

    @Test(arguments: refused) func refusals(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try Self.field(text) }
        #expect(fault?.status == 400)
    }

    static let wishes: [(String, [HTTPDigestAlgorithm]?)] = [
        ("sha-256=1", [.sha256]), ("sha-512=3, sha-256=10, unixsum=0", [.sha256, .sha512]),
        ("sha-512=10, sha-256=10", [.sha512, .sha256]),
        ("sha-256=0, sha-512=1", [.sha512]), ("md5=5", []), ("", []), ("sha-256=11", nil), ("sha-256=-1", nil),
        ("sha-256", nil),
        ("sha-256=1.0", nil), ("sha-256=a", nil), ("sha-256=1,", nil),
    ]

    @Test(arguments: wishes) func preferences(_ text: String, _ algorithms: [HTTPDigestAlgorithm]?) {
        #expect(DigestPreference([Array(text.utf8)])?.algorithms == algorithms)
    }

    @Test func offers() {
        #expect(DigestPreference([]) == nil)
        #expect(DigestPreference.offer == "sha-256=10, sha-512=10")
    }
}
