import Testing
import TransferHTTP
import TransferTestSupport

/// Values of RFC 9651, and texts that its algorithms refuse.
@Suite struct StructuredFieldTests {
    private static func item(_ text: String) -> StructuredItem? { StructuredField.item([Array(text.utf8)]) }

    private static func list(_ lines: String...) -> [StructuredMember]? {
        StructuredField.list(lines.map { Array($0.utf8) })
    }

    private static func dictionary(_ lines: String...) -> StructuredDictionary? {
        StructuredField.dictionary(lines.map { Array($0.utf8) })
    }

    static let known: [(String, BareItem)] = [
        ("42", BareItem.integer(42)), ("-0", .integer(0)), ("0042", .integer(42)),
        ("999999999999999", .integer(999_999_999_999_999)), ("-999999999999999", .integer(-999_999_999_999_999)),
        ("4.5", .decimal(thousandths: 4500)), ("-0.001", .decimal(thousandths: -1)),
        ("999999999999.999", .decimal(thousandths: 999_999_999_999_999)),
        (#""hello world""#, .string("hello world")), (#""a \"b\" \\""#, .string(#"a "b" \"#)), (#""""#, .string("")),
        ("foo123/456", .token("foo123/456")), ("*a", .token("*a")),
        ("A:b!#$%&'*+-.^_`|~/", .token("A:b!#$%&'*+-.^_`|~/")),
        (":cHJldGVuZCB0aGlzIGlzIGJpbmFyeSBjb250ZW50Lg==:", .bytes(Array("pretend this is binary content.".utf8))),
        ("::", .bytes([])), (":YQ:", .bytes([0x61])), (":YR==:", .bytes([0x61])),
        ("?1", .boolean(true)), ("?0", .boolean(false)), ("@1659578233", .date(1_659_578_233)), ("@-1", .date(-1)),
        (#"%"This is intended for display to %c3%bc""#, .displayString("This is intended for display to ü")),
        ("  5  ", .integer(5)),
    ]

    @Test(arguments: known) func values(_ text: String, _ value: BareItem) {
        #expect(Self.item(text) == StructuredItem(value))
    }

    static let faults: [(String, Comment)] = [
        ("", "nothing"), ("1000000000000000", "16 digits"), ("1234567890123.4", "13 digits before the point"),
        ("1.2345", "4 digits behind the point"), ("1.", "no digits behind the point"), (".1", "none before it"),
        ("-", "no digits"), ("--1", "two signs"), ("+1", "a plus sign"), ("1 2", "two items"), ("1,2", "a list"),
        (#"""#, "no end"), (#""a"#, "no end"), (#""\a""#, "an escape that there is not"),
        (#""\"#, "an escape of nothing"),
        ("\"\u{7F}\"", "DEL"), ("\"\t\"", "a tab in a string"), ("\"é\"", "no ASCII"), ("\t5", "a tab in front"),
        (":a:", "one digit of base64"), (":YQ=:", "half a padding"), (":Y=Q=:", "padding inside"),
        (":YQ===:", "too much padding"), (":Y Q:", "a space in base64"), (":YQ==", "no end"),
        ("?2", "no boolean"), ("?", "no boolean"), ("?11", "two digits"), ("@", "no seconds"), ("@1.5", "fractions"),
        ("@1000000000000000", "16 digits"), ("@@1", "two signs"), ("%", "no quotes"), ("%\"a", "no end"),
        ("%\"%C3%BC\"", "large digits"), ("%\"%c3\"", "no UTF-8"), ("%\"%c\"", "one digit"), ("%\"%\"", "no digits"),
        ("%\"ü\"", "no ASCII"), ("$a", "no kind"), ("a;B=1", "a key with a large letter"),
        ("a;1=1", "a key with a digit first"),
        ("a;", "no key"), ("a;b=", "no value"), ("a ;b", "a space in front of a semicolon"),
        ("a;b =1", "a space in front of ="),
        ("(1)", "an inner list"),
    ]

    @Test(arguments: faults) func refusedItems(_ text: String, _ reason: Comment) {
        #expect(Self.item(text) == nil, reason)
    }

    @Test func parameters() throws {
        let item = try #require(Self.item("abc; a=1;b=2;  cde_456; a=3"))
        #expect(item.parameters.entries.map(\.key) == ["a", "b", "cde_456"])
        #expect(item.parameters["a"] == .integer(3))
        #expect(item.parameters["cde_456"] == .boolean(true))
        #expect(item.parameters["z"] == nil)
    }

    @Test func lists() {
        let sugar: [StructuredMember] = ["sugar", "tea", "rum"].map { .item(StructuredItem(.token($0))) }
        #expect(Self.list("sugar, tea, rum") == sugar)
        #expect(Self.list("sugar, tea", "rum") == sugar)
        #expect(Self.list("sugar\t,tea,\trum  ") == sugar)
        #expect(Self.list() == [])
        #expect(Self.list("") == [])
        #expect(
            Self.list(#"("foo"; a=1;b=2);lvl=5, ("bar" "baz");lvl=1, ( )"#) == [
                .innerList(
                    [StructuredItem(.string("foo"), ["a": .integer(1), "b": .integer(2)])], ["lvl": .integer(5)]),
                .innerList([StructuredItem(.string("bar")), StructuredItem(.string("baz"))], ["lvl": .integer(1)]),
                .innerList([], [:]),
            ])
    }

    static let listFaults: [([String], Comment)] = [
        (["a,"], "a comma at the end"), ([",a"], "a comma in front"), (["a,,b"], "an empty member"),
        (["a b"], "no comma"),
        (["a", ""], "an empty line"), (["", "a"], "an empty line"), (["\"a", "b\""], "a string over two lines"),
        (["(a"], "no end of an inner list"), (["(a,b)"], "a comma in an inner list"), (["((a))"], "lists in lists"),
        (["(a(b))"], "lists in lists"), (["(\"a\"\"b\")"], "no space between"), (["(a\tb)"], "a tab between"),
        (["a)"], "no beginning"),
    ]

    @Test(arguments: listFaults) func refusedLists(_ lines: [String], _ reason: Comment) {
        #expect(StructuredField.list(lines.map { Array($0.utf8) }) == nil, reason)
    }

    @Test func dictionaries() throws {
        let all = try #require(
            Self.dictionary(#"en="Applepie", da=:w4ZibGV0w6ZydGU=:"#, "a=?0, b, c; foo=bar, l=(1 2)"))
        #expect(all.entries.map(\.key) == ["en", "da", "a", "b", "c", "l"])
        #expect(all["en"]?.value == .string("Applepie"))
        #expect(all["da"]?.value == .bytes(Array("Æbletærte".utf8)))
        #expect(all["b"]?.value == .boolean(true))
        #expect(all["c"] == .item(StructuredItem(.boolean(true), ["foo": .token("bar")])))
        #expect(all["l"]?.value == nil)
        #expect(all["z"] == nil)
    }

    /// The last value counts, at the position of the first (RFC 9651, section 3.2).
    @Test func keysTwice() {
        #expect(
            Self.dictionary("a=1,b=2,a=3") == [
                "a": .item(StructuredItem(.integer(3))), "b": .item(StructuredItem(.integer(2))),
            ])
        #expect(Self.dictionary("a=1,b=2", "a=3")?.entries.map(\.key) == ["a", "b"])
    }

    @Test(arguments: ["a=", "=1", "A=1", "1=a", "a=1,", ",a=1", "a=1 b=2", "a= 1", "a =1", "a=1,,b=2", "a=b=c", "-a"])
    func refusedDictionaries(_ text: String) {
        #expect(Self.dictionary(text) == nil)
    }

    @Test(arguments: [1023, 1024, 1025]) func bounds(_ count: Int) {
        let fits = count <= StructuredField.mostMembers
        let numbers = (0..<count).map(String.init)
        let halves = [Array(numbers.prefix(500)), Array(numbers.dropFirst(500))]
        #expect((Self.list(numbers.joined(separator: ",")) != nil) == fits)
        #expect((Self.list(halves[0].joined(separator: ","), halves[1].joined(separator: ",")) != nil) == fits)
        #expect((Self.list("(" + numbers.joined(separator: " ") + ")") != nil) == fits)
        #expect((Self.dictionary(numbers.map { "a\($0)" }.joined(separator: ",")) != nil) == fits)
        #expect((Self.item("a" + numbers.map { ";a\($0)" }.joined()) != nil) == fits)
        let keys = halves.map { $0.map { "a\($0)" }.joined(separator: ",") }
        #expect((Self.dictionary(keys[0], keys[1]) != nil) == fits)
    }

    @Test(arguments: [0, 2, 3]) func anItemIsOneLine(_ count: Int) {
        #expect(StructuredField.item(Array(repeating: Array("1".utf8), count: count)) == nil)
    }

    /// No text traps, and a written value is read as an equal value.
    @Test(arguments: 0..<8 as Range<UInt64>) func randomBytes(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let alphabet = Array("ab1.-\"\\:?@%;=(), \t%c3\u{7F}*é".utf8)
        for _ in 0..<4000 {
            let count = Int.random(in: 0...14, using: &generator)
            let line = (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            if let item = StructuredField.item([line]) {
                let text = try #require(StructuredWriter.text(item))
                #expect(StructuredField.item([Array(text.utf8)]) == item)
            }
            if let list = StructuredField.list([line]) {
                let text = try #require(StructuredWriter.text(list))
                #expect(StructuredField.list([Array(text.utf8)]) == list)
            }
            if let dictionary = StructuredField.dictionary([line]) {
                let text = try #require(StructuredWriter.text(dictionary))
                #expect(StructuredField.dictionary([Array(text.utf8)]) == dictionary)
            }
        }
    }
}
