import Testing

@testable import TransferAccess

@Suite struct AccessSecretTests {
    @Test(arguments: [AccessSecret.Kind.token, .pairing]) func readsWhatItWrites(_ kind: AccessSecret.Kind) {
        let secret = AccessSecret.random(kind)
        #expect(AccessSecret(secret.text) == secret)
        #expect(AccessSecret(" \(secret.text.uppercased())\n") == secret)
        #expect(secret.text.utf8.count <= AccessSecret.longestText && secret.secret.utf8.count == 32)
        #expect(AccessSecret.random(kind) != secret)
    }

    @Test func isNotShownByAccident() {
        let secret = AccessSecret.random(.token)
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped] { #expect(!text.contains(secret.secret)) }
    }

    @Test(arguments: [
        "", "transfer", "transfer_", "transfer__", "transfer_00000000_",
        "token_00000000_00000000000000000000000000000000",
        "transfer_00000000_0000000000000000000000000000000", "transfer_00000000_000000000000000000000000000000000",
        "transfer_0000000i_00000000000000000000000000000000", "transfer_00000000_00000000000000000000000000000000_",
        "transfer_00000000_0000000000000000000000000000000\u{0}", String(repeating: "_", count: 200),
        "transfer_00000000_" + String(repeating: " ", count: 1000) + "00000000000000000000000000000000",
    ]) func nothingElse(_ text: String) { #expect(AccessSecret(text) == nil) }

    @Test func digitsAreThoseOfCrockford() {
        #expect(Base32.encode([0, 0x44, 0x32, 0x14, 0xC7]) == "01234567")
        #expect(Base32.encode([255, 255, 255, 255, 255]) == "zzzzzzzz")
    }
}
