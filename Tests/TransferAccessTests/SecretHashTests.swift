import Testing

@testable import TransferAccess

@Suite struct SecretHashTests {
    private static let secret = AccessSecret("transfer_00000000_0123456789abcdefghjkmnpqrstvwxyz")

    private static let known = "rJy3OKa/OzM5ooFmDoRZzgCFr96x3+GUnwqlmNFIHO0"

    @Test func matchesItsSecretAlone() throws {
        let secret = try #require(Self.secret)
        let hash = SecretHash(of: secret)
        #expect(hash.matches(secret) && !hash.matches(.random(.token)))
        let again = try #require(SecretHash(hash.description))
        #expect(again == hash && again.matches(secret))
        #expect(SecretHash(of: secret) != hash)
    }

    /// The hash of Python's hashlib.scrypt with the salt 00 01 … 0f.
    @Test func knownHash() throws {
        let hash = SecretHash("$scrypt$ln=10,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(Self.known)")
        #expect(try #require(hash).matches(try #require(Self.secret)))
    }

    @Test(arguments: [
        "", "$", "$scrypt$ln=15,r=8,p=1$$", "$bcrypt$ln=15,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=0,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)", "$scrypt$ln=63,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=20,r=32,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=10,r=8,p=99$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=10,r=18446744073709551615,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=+9,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$r=8,ln=10,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)",
        "$scrypt$ln=10,r=8$AAECAwQFBgcICQoLDA0ODw$\(known)", "$scrypt$ln=10,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAAA",
        "$scrypt$ln=10,r=8,p=1$AAEC$\(known)", "$scrypt$ln=10,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$\(known)$",
    ]) func nothingElse(_ text: String) { #expect(SecretHash(text) == nil) }
}
