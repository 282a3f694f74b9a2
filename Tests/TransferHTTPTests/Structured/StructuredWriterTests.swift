import Testing
import TransferHTTP

@Suite struct StructuredWriterTests {
    static let known: [(BareItem, String)] = [
        (BareItem.integer(-42), "-42"), (.integer(999_999_999_999_999), "999999999999999"),
        (.decimal(thousandths: 4500), "4.5"), (.decimal(thousandths: -1), "-0.001"),
        (.decimal(thousandths: 2000), "2.0"),
        (.decimal(thousandths: 1020), "1.02"), (.string(#"a "b" \"#), #""a \"b\" \\""#), (.token("a/b"), "a/b"),
        (.bytes([0x61]), ":YQ==:"), (.boolean(true), "?1"), (.boolean(false), "?0"), (.date(-7), "@-7"),
        (.displayString("50% \"ü\""), "%\"50%25 %22%c3%bc%22\""),
    ]

    @Test(arguments: known) func values(_ value: BareItem, _ text: String) {
        #expect(StructuredWriter.text(value) == text)
    }

    static let unwritable: [BareItem] = [
        BareItem.integer(1_000_000_000_000_000), .integer(.min), .decimal(thousandths: .min), .date(.max),
        .string("ü"), .string("\n"), .token(""), .token("1a"), .token("a b"), .token("ü"),
    ]

    @Test(arguments: unwritable) func whatHasNoText(_ value: BareItem) {
        #expect(StructuredWriter.text(value) == nil)
        #expect(StructuredWriter.text([.innerList([StructuredItem(value)], [:])]) == nil)
        #expect(StructuredWriter.text(StructuredItem(.integer(1), ["a": value])) == nil)
    }

    @Test(arguments: ["", "A", "1a", "a b", "ü", "-a"]) func keysThatAreNone(_ key: String) {
        #expect(StructuredWriter.text([key: .item(StructuredItem(.integer(1)))] as StructuredDictionary) == nil)
        #expect(StructuredWriter.text(StructuredItem(.integer(1), [key: .boolean(true)])) == nil)
    }

    @Test func lists() {
        let list: [StructuredMember] = [
            .innerList(
                [StructuredItem(.string("foo"), ["a": .integer(1)]), StructuredItem(.token("b"))],
                ["lvl": .integer(5)]),
            .item(StructuredItem(.boolean(true), ["x": .boolean(true), "y": .boolean(false)])),
        ]
        #expect(StructuredWriter.text(list) == #"("foo";a=1 b);lvl=5, ?1;x;y=?0"#)
        #expect(StructuredWriter.text([] as [StructuredMember])?.isEmpty == true)
    }

    @Test func dictionaries() {
        let dictionary: StructuredDictionary = [
            "a": .item(StructuredItem(.boolean(true), ["b": .integer(1)])), "c": .item(StructuredItem(.boolean(false))),
            "d": .innerList([], [:]),
        ]
        #expect(StructuredWriter.text(dictionary) == "a;b=1, c=?0, d=()")
    }
}

@Suite struct Base64TextTests {
    /// RFC 4648, section 10.
    static let known: [(String, String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: known) func vectors(_ text: String, _ digits: String) {
        #expect(Base64Text.encode(Array(text.utf8)) == digits)
        #expect(Base64Text.decode(digits.utf8) == Array(text.utf8))
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "=", "====", "Zg==Zg==", "Zm9v=", "Zm 9v", "Zm9v\n", "Zm9-", "Zm9é",
    ])
    func refused(_ digits: String) {
        #expect(Base64Text.decode(digits.utf8) == nil)
    }

    @Test func everyByte() {
        let bytes = (0...255).map { UInt8($0) }
        for count in 0...256 {
            let piece = Array(bytes.suffix(count))
            #expect(Base64Text.decode(Base64Text.encode(piece).utf8) == piece)
            let bare = Base64Text.encode(piece).utf8.filter { $0 != UInt8(ascii: "=") }
            #expect(Base64Text.decode(bare, .lenient) == piece)
        }
    }
}
