import Testing
import TransferModel

/// A text or the first bytes of `Sample.pattern`, and the digests that `xxhsum -H2` and `sha256sum` print for them.
struct DigestVector: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let content: [UInt8]
    let xxh128: String
    let sha256: String

    init(_ text: String, _ xxh128: String, _ sha256: String) {
        testDescription = "\"\(text)\""
        content = Array(text.utf8)
        self.xxh128 = xxh128
        self.sha256 = sha256
    }

    init(pattern count: Int, _ xxh128: String, _ sha256: String) {
        testDescription = "\(count) bytes"
        content = Sample.pattern(count)
        self.xxh128 = xxh128
        self.sha256 = sha256
    }
}

extension DigestVector {
    /// The lengths lie on both sides of XXH3's changes of method (3, 8, 16, 128, 240 and 1024 bytes).
    static let blocks = [
        DigestVector(
            "", "99aa06d3014798d86001c324468d497f",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        DigestVector(
            "abc", "06b05ab6733a618578af5f94892f3950",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        DigestVector(
            "The quick brown fox jumps over the lazy dog", "ddd650205ca3e7fa24a1cc2e3a8a7651",
            "d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592"),
        DigestVector(
            pattern: 1, "a6cd5e9392000f6ac44bdff4074eecdb",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        DigestVector(
            pattern: 3, "c925ae1797c3998f6811538b444fc6dc",
            "0f8f7dd276f172ec541e9cfbb686de7730c82ba9e25a36b279f53cb6707af020"),
        DigestVector(
            pattern: 4, "6ae518c60df23fcadb9cecd5eb59a7f1",
            "5a7cb05f012a3f34e06468b4f71a83c4cd728845afec602ff3bbf4c0e200c301"),
        DigestVector(
            pattern: 8, "63f350efc0ba3e2e5b3f49d0f38f9d7d",
            "5b818aa31f72eda67b5156b223c9a796ff4f92b24e2ef7470f2b689b512f4994"),
        DigestVector(
            pattern: 9, "83c871b1014e6f76d8a20b5b7aa68a37",
            "1672b3b80be3661bf724e85def81905371304a1775260ab31d21c5b9366b22ad"),
        DigestVector(
            pattern: 16, "248181305d3c1039adebb1d9d080b69c",
            "7ca780942f622ad927b1bcc65b175b232a269fe4200ddadfac5f04d4d718a7f8"),
        DigestVector(
            pattern: 17, "825a0db7d0afe2c0cfea252f6b7ed7e9",
            "86d7b1a98e73a6ab5defd3270d5f233545c6c9a21c4aac66fc45e69be09c7b75"),
        DigestVector(
            pattern: 128, "08df79f520370b525cfea347ea4bb687",
            "ad10550a200b2dd5eef8de5edb1fbb508ecdd446aa02d574f73aa2e2c6188c7e"),
        DigestVector(
            pattern: 129, "fc1d02037be48a62821740ece8839b64",
            "ad3e3356d45ec2acb9ba3b02c15a19784eef3627a77768c10cfd43d8ff54e343"),
        DigestVector(
            pattern: 240, "8406fbd017acdf4e687f00a7f64e46db",
            "8ffdba72d800b024c141045971095a0007840e7038f529ea6bc90d7c6996ec81"),
        DigestVector(
            pattern: 241, "d894c74b1b3ea28f44dbd3180a664e27",
            "370457dafd52a8176342a1e587268ad8a20e87bc59d5af62c99c09210009247b"),
        DigestVector(
            pattern: 1024, "5d7e2f874eb8447121c517ec6e3c4f2f",
            "aa929e6f00fc44cddff9a6bfbd02f55e946b070f5c1ecd80e91524cf16b72738"),
        DigestVector(
            pattern: 1025, "99f410a6f961ec40103925074d5be53b",
            "36cc038cf0037f3f6d50b477cb26dd3d4f0ded4fd29239838180aa675d87d818"),
        DigestVector(
            pattern: 65536, "54705d7dc338f9002457094f01b437b9",
            "bf6d274fefaff9e04b1c2fc400e7fd5009bc13b769350f4c52da0e5158d00f9a"),
        DigestVector(
            pattern: 4 << 20, "b963014ce9bd1e1fe4f23682215dd168",
            "d93ba39078d283c1a5fb9c1e34b4f2ac3be2f48ba7f43deb00c7722bd2d60efb"),
    ]

    /// Tree digests, also made with the tools: the digest of the concatenated binary digests of all 4 MiB pieces.
    static let trees = [
        DigestVector(
            pattern: (4 << 20) + 1, "a4c955191f04022782cfd9fed2bb9c15",
            "bf498275fcfdfebf72b29bae6f8259085f5839cc271300e2aab89b4543c0c460"),
        DigestVector(
            pattern: 8 << 20, "8a960a55dfe796384925b169c5f68020",
            "a3f7c16b5c202c86dcef32fee2b44a9b47c8fa697cb5ffb90a7cb9eb58ab269a"),
        DigestVector(
            pattern: 8_400_953, "fac234a87fa1e9d7516e11bf94952744",
            "8f5008597bf0cffae6ce9f03099ea4b6a25fa9e4e8e0826fc9614391d1bf8d51"),
    ]

    func digits(_ function: DigestFunction) -> String {
        switch function {
        case .xxh128: xxh128
        case .sha256: sha256
        }
    }
}
