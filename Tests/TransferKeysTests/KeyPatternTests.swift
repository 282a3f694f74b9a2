import Testing

@testable import TransferKeys

@Suite struct KeyPatternTests {
    static let fingerprint = Sample.key.fingerprint
    static let base64 = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    static let pem =
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"

    /// The output of `openssl dgst -sha256 -binary | openssl base64`.
    @Test func fingerprintIsThatOfTheRawKey() {
        #expect(Self.fingerprint == "SHA256:If4x36FUomFia/hUBG/SJxt77UtqvkWqWId+9H+XIbk")
    }

    @Test(arguments: [
        fingerprint, fingerprint + "=", base64, String(base64.dropLast()), pem, Sample.key.hexadecimal,
        Sample.key.hexadecimal.uppercased(), "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    ]) func everyForm(_ text: String) throws {
        let pattern = try #require(KeyPattern(text))
        #expect(pattern.matches(Sample.key))
        #expect(!pattern.matches(KeyPair().key))
    }

    @Test(arguments: [
        "", "SHA256:", "SHA256:abc", "MD5:00", "0", String(repeating: "0", count: 62),
        String(repeating: "g", count: 64),
        String(base64.dropLast(2)), base64 + "=", " " + base64, pem + pem,
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp=",
        "SHA256:" + fingerprint,
    ]) func nothingElse(_ text: String) {
        #expect(KeyPattern(text) == nil)
    }
}
