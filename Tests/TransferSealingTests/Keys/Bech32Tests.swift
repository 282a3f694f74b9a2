import Testing

@testable import TransferSealing

@Suite struct Bech32Tests {
    /// BIP 173, "Test vectors": those of up to 90 characters whose data is empty or whole bytes.
    @Test(arguments: ["A12UEL5L", "a12uel5l", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"])
    func knownTexts(_ text: String) throws {
        let (prefix, bytes) = try #require(Bech32.decode(text))
        #expect(Bech32.encode(prefix.lowercased(), bytes) == text.lowercased())
    }

    /// Invalid texts of BIP 173: characters outside the alphabet, no separator, no prefix, invalid digits and
    /// checksums, both cases.
    @Test(arguments: [
        " 1nwldj5", "\u{7F}1axkwrx", "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "de1lg7wt\u{FF}",
        "A1G7SGD8",
        "10a06t8", "1qzzfhee", "", "1", "a1", "A12uEL5L", "a12UEL5L",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxx", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqx",
        "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx",
    ]) func nothingElse(_ text: String) {
        #expect(Bech32.decode(text) == nil)
    }

    @Test(arguments: 0...40) func allLengths(_ count: Int) throws {
        let bytes = Sample.content(count)
        let text = Bech32.encode("x", bytes)
        #expect(try #require(Bech32.decode(text)).bytes == bytes)
        #expect(try #require(Bech32.decode(text.uppercased())).bytes == bytes)
        #expect(try #require(Bech32.decode(text.uppercased())).prefix == "X")
    }

    /// A single changed character is always noticed (BIP 173, "Checksum design").
    @Test func everyChangeIsNoticed() throws {
        let text = Array(Sample.recipientText.utf8)
        for index in text.indices where index != 3 {
            for digit in "qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8 where digit != text[index] {
                var changed = text
                changed[index] = digit
                #expect(Bech32.decode(String(decoding: changed, as: UTF8.self)) == nil)
            }
        }
    }

    /// One byte takes exactly two digits, whose last two bits are zero.
    @Test func leftOverBitsAreZero() throws {
        #expect(try #require(Bech32.decode(Bech32.text("x", groups: [31, 28]))).bytes == [0xFF])
        for groups: [UInt8] in [[31, 29], [31, 30], [31, 31], [31], [31, 28, 0], [0]] {
            #expect(Bech32.decode(Bech32.text("x", groups: groups)) == nil, "\(groups)")
        }
    }
}
