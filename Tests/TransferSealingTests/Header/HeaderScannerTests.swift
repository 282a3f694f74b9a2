import Testing
import TransferModel

@testable import TransferSealing

@Suite struct HeaderScannerTests {
    private static let code = String(repeating: "A", count: 43)
    private static let end = "--- \(code)\n"
    private static let version = "age-encryption.org/v1\n"
    private static let full = String(repeating: "A", count: 64) + "\n"

    private func scan(_ text: String, cut: Int = .max) throws(SealingError) -> (SealedHeader?, Int) {
        var scanner = HeaderScanner()
        var total = 0
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(cut))
            var consumed = 0
            let header = try scanner.scan(piece.span.bytes, consumed: &consumed)
            total += consumed
            if let header { return (header, total) }
            rest = rest.dropFirst(piece.count)
        }
        return (nil, total)
    }

    /// The scanner does not consume bytes behind a header, and waits for an incomplete one.
    @Test(arguments: [1, 2, 7, 64, Int.max]) func howeverItIsCut(_ cut: Int) throws {
        let text = Self.version + "-> X25519 a\n\(Self.full)AAAA\n-> b\n\n\(Self.end)"
        let (found, taken) = try scan(text + "payload", cut: cut)
        let header = try #require(found)
        #expect(header.bytes == Array(text.utf8) && taken == text.utf8.count)
        #expect(header.stanzas.map(\.arguments) == [["X25519", "a"], ["b"]])
        #expect(header.stanzas.map(\.body.count) == [51, 0])
        for count in 0..<text.utf8.count {
            let (early, consumed) = try scan(String(text.prefix(count)), cut: cut)
            #expect(early == nil && consumed == count)
        }
    }

    @Test(arguments: [
        "-> a\n\n", "-> a b c\nAAAA\n", "-> !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\n", "-> a\n\(full)\n",
        "-> a\n\(full)\(full)AA\n",
        "-> a\n\(String(repeating: "A", count: 63).dropLast(1))\n",
    ]) func stanzasThatAreSome(_ stanza: String) throws {
        let header = try #require(try scan(Self.version + stanza + Self.end).0)
        #expect(header.stanzas.count == 1)
        #expect(header.stanzas[0].text == stanza)
    }

    @Test(arguments: [
        "->\n\n", "-> \n\n", "-> a \n\n", "->  a\n\n", "-> a  b\n\n", "->a\n\n", "-> a\r\n\r\n", "-> a\n\r\n",
        "-> \u{E9}\n\n", "-> a\u{1}\n\n",
        "-> a\nA\n", "-> a\nAAAA=\n", "-> a\nAA==\n", "-> a\nAB\n", "-> a\nAAA*\n", "-> a\n AAA\n", "-> a\nAA AA\n",
        "-> a\nAAAA \n",
        "-> a\n\(String(repeating: "A", count: 65))\n", "-> a\n\(String(repeating: "A", count: 68))\n", "-> a\n",
        "-> a\n\(full)",
        "-> a\n\n\n", "-> a\n\nAAAA\n", "-> a\nAA\nAA\n", "-> scrypt a 1\n\n-> b\n\n", "-> b\n\n-> scrypt\n\n",
        "", "\n", "* a\n\n", "-- a\n\n", "-> a\nAA-_\n",
    ]) func stanzasThatAreNone(_ stanza: String) {
        for cut in [1, Int.max] {
            #expect(throws: SealingError.self) { try scan(Self.version + stanza + Self.end, cut: cut) }
        }
    }

    @Test(arguments: [
        "---\(code)\n", "---\n", "--- \n", "--- \(code.dropLast())\n", "--- \(code)A\n", "---  \(code)\n",
        "--- \(code) \n",
        "--- \(code)=\n", "--- \(code)\r\n", "--- \(code.dropLast())B\n", "----\(code)\n",
    ]) func endsThatAreNone(_ end: String) {
        #expect(throws: SealingError.self) { try scan(Self.version + "-> a\n\n" + end) }
    }

    @Test func firstLineDecides() {
        for text in [
            "x", "age-encryption.com", " age-encryption.org/v1\n", "\n", "PK", "-----BEGIN PGP MESSAGE-----\n",
        ] {
            #expect(throws: SealingError.notSealed) { try scan(text) }
        }
        for text in [
            "age-encryption.org/v2\n", "age-encryption.org/v10\n", "age-encryption.org/v1 \n",
            "age-encryption.org/v1\r\n",
        ] {
            #expect(throws: SealingError.unsupported("Another version of the age format")) { try scan(text) }
        }
        #expect(throws: SealingError.unsupported("An age file written as text")) {
            try scan("-----BEGIN AGE ENCRYPTED FILE-----\n")
        }
    }

    /// A header without end is not kept.
    @Test func lengthIsBounded() throws {
        let endless = Self.version + "-> " + String(repeating: "a", count: SealedHeader.longest)
        for cut in [1000, Int.max] {
            #expect(throws: SealingError.tooLarge("The header is longer than 65536 bytes.")) {
                try scan(endless, cut: cut)
            }
        }
        let room = SealedHeader.longest - (Self.version + "-> \n\n" + Self.end).utf8.count
        let longest = Self.version + "-> \(String(repeating: "a", count: room))\n\n" + Self.end
        #expect(try scan(longest).0?.bytes.count == SealedHeader.longest)
        #expect(throws: SealingError.self) { try scan(longest.replacing("-> ", with: "-> a", maxReplacements: 1)) }
    }

    @Test func stanzasAreBounded() throws {
        let most = String(repeating: "-> a\n\n", count: SealedHeader.mostStanzas)
        #expect(try scan(Self.version + most + Self.end).0?.stanzas.count == SealedHeader.mostStanzas)
        #expect(throws: SealingError.tooLarge("The header is for more than 1024 recipients.")) {
            try scan(Self.version + most + "-> a\n\n" + Self.end)
        }
    }
}
