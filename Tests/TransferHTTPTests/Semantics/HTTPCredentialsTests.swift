import Testing

@testable import TransferHTTP

@Suite struct HTTPCredentialsTests {
    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer  abc", "abc"), ("Basic dXNlcjpwYXNz", "pass"), ("BASIC OnBhc3M=", "pass"),
        ("Basic dXNlcjphOmI=", "a:b"),
        // No token has these values.
        ("Bearer", ""), ("Basic ", ""), ("Basic !", ""), ("Basic dXNlcg==", ""), ("Digest a=b", ""), ("", ""),
        ("Bearer \u{1}", "\u{1}"),
    ])
    func aTokenIsFound(_ value: String, _ token: String) {
        #expect(HTTPCredentials.token([Array(value.utf8)]) == token)
    }

    @Test func nothingShownIsNothing() {
        #expect(HTTPCredentials.token([]) == nil)
        #expect(HTTPCredentials.token([Array("Bearer a".utf8), Array("Bearer a".utf8)]) == "")
        #expect(HTTPCredentials.token([Array("Bearer ".utf8) + [0xFF]]) == "")
        let long = HTTPCredentials.longest - 7
        #expect(HTTPCredentials.token([Array("Bearer ".utf8) + Array(repeating: 97, count: long)])?.utf8.count == long)
        #expect(HTTPCredentials.token([Array("Bearer ".utf8) + Array(repeating: 97, count: long + 1)]) == "")
    }
}
