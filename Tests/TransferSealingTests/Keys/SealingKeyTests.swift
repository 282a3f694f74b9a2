import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct SealingKeyTests {
    /// The example of the age format.
    @Test func knownTexts() throws {
        let key = try Sample.key()
        #expect(try key.text == Sample.secretText)
        #expect(key.recipient.text == Sample.recipientText)
        #expect(try SealingKey(text: Sample.secretText).recipient == key.recipient)
        #expect(try SealingRecipient(text: Sample.recipientText) == key.recipient)
    }

    /// RFC 7748, section 6.1.
    @Test func knownAgreement() throws {
        let alice = try SealingKey(
            secret: Sample.bytes32("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
        let bob = try SealingKey(
            secret: Sample.bytes32("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
        #expect(
            bob.recipient.raw
                == (try Sample.bytes32("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")))
        #expect(
            alice.recipient.raw
                == (try Sample.bytes32("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")))
        let (one, other) = (try alice.agree(with: bob.recipient.raw), try bob.agree(with: alice.recipient.raw))
        let shared = try Sample.bytes32("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        #expect(one.hasSameBytes(as: other) && one.hasSameBytes(as: SecretBytes(shared.bytes)))
    }

    @Test func newOnesDiffer() throws {
        let (one, other) = (try SealingKey(), try SealingKey())
        #expect(one.recipient != other.recipient)
        #expect(try SealingKey(text: one.text).recipient == one.recipient)
    }

    @Test(arguments: [
        "", Sample.recipientText, Sample.secretText.lowercased(), Sample.secretText + "Q",
        String(Sample.secretText.dropLast()), " " + Sample.secretText, Sample.secretText + "\n",
        "age" + Sample.secretText.dropFirst(3), Bech32.encode("age-secret-key-", [1, 2, 3]).uppercased(),
        Bech32.encode("age-secret-key-", [UInt8](repeating: 1, count: 33)).uppercased(),
        Bech32.encode("age", [UInt8](repeating: 1, count: 32)).uppercased(),
    ]) func secretsHaveOneForm(_ text: String) {
        #expect(throws: SealingError.self) { try SealingKey(text: text) }
    }
}
