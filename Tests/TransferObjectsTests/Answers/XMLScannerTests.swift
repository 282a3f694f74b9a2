import Testing

@testable import TransferObjects

@Suite struct XMLScannerTests {
    private static func read(_ text: String) throws(XMLScanner.Fault) -> [XMLScanner.Event] {
        var events: [XMLScanner.Event] = []
        try XMLScanner.read(Array(text.utf8)) { events.append($0) }
        return events
    }

    @Test func readsElements() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- a <comment> -->
            <r:R xmlns:r="http://x/>" a='>'><A>1 &lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;</A><B/>
              <C ><D></D></C >
              <E><![CDATA[<raw> & ]]></E></r:R>

            """
        #expect(
            try Self.read(text) == [
                .leaf(path: ["R", "A"], text: "1 <&>\"'A😀"), .leaf(path: ["R", "B"], text: ""),
                .leaf(path: ["R", "C", "D"], text: ""), .end(path: ["R", "C"]),
                .leaf(path: ["R", "E"], text: "<raw> & "), .end(path: ["R"]),
            ])
    }

    @Test func skipsTheByteOrderMark() throws {
        #expect(try Self.read("\u{FEFF}<a>1</a>") == [.leaf(path: ["a"], text: "1")])
    }

    @Test(arguments: [
        "", "  ", "text", "<a>", "<a", "<a></b>", "</a>", "<a></a><b></b>", "<a></a>text", "<a><b></a></b>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<a>&x;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>",
        "<a>&#x110000;</a>",
        "<a>&amp</a>", "<a>&", "<a>&#99999999999999999999;</a>", "<></>", "<:></:>", "<a <b></a>", "<a x=\"></a>",
        "<!-- <a></a>", "<a><![CDATA[ </a>", "<![CDATA[ ]]><a/>", "<?x <a/>", "<a>\u{FFFD}</a", "<a>1<b>2</b>3</a>",
        "<a>&#-1;</a>", "<a>&#+65;</a><",
    ])
    func refuses(text: String) {
        #expect(throws: XMLScanner.Fault.self) { try Self.read(text) }
    }

    @Test func refusesBytesThatAreNotUTF8() {
        #expect(throws: XMLScanner.Fault("it is not UTF-8")) {
            try XMLScanner.read(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8)) { _ in }
        }
    }

    @Test func boundsNestingNamesAndTexts() throws {
        let levels = XMLScanner.deepest
        let open = String(repeating: "<a>", count: levels), close = String(repeating: "</a>", count: levels)
        #expect(throws: Never.self) { try Self.read(open + close) }
        #expect(throws: XMLScanner.Fault("it is nested too deeply")) { try Self.read("<a>\(open)\(close)</a>") }
        let name = String(repeating: "n", count: XMLScanner.longestName)
        #expect(throws: Never.self) { try Self.read("<\(name)></\(name)>") }
        #expect(throws: XMLScanner.Fault.self) { try Self.read("<\(name)n></\(name)n>") }
        let text = String(repeating: "t", count: XMLScanner.longestText)
        #expect(throws: Never.self) { try Self.read("<a>\(text)</a>") }
        #expect(throws: XMLScanner.Fault("a text is too long")) { try Self.read("<a>\(text)t</a>") }
    }

    /// Every prefix of a document ends too early, and traps nowhere.
    @Test func refusesEachPrefix() throws {
        let text = Array("<?xml?><!--c--><a b='c'><d>&amp;&#65;<![CDATA[x]]></d></a>".utf8)
        for count in 0..<text.count {
            #expect(throws: XMLScanner.Fault.self) { try XMLScanner.read(Array(text[..<count])) { _ in } }
        }
        #expect(throws: Never.self) { try XMLScanner.read(text) { _ in } }
    }
}

@Suite struct EngineAnswersTests {
    @Test func readsExplanations() {
        let text = """
            <?xml version="1.0"?><Error><Code>AuthorizationHeaderMalformed</Code><Message>The region is wrong</Message>
            <Region>eu-west-1</Region><RequestId>1</RequestId></Error>
            """
        let problem = EngineProblem(Array(text.utf8))
        #expect(problem.code == "AuthorizationHeaderMalformed")
        #expect(problem.message == "The region is wrong")
        #expect(problem.region == "eu-west-1")
    }

    @Test func readsExplanationsOfTheTokenService() {
        let text = "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code></Error></ErrorResponse>"
        #expect(EngineProblem(Array(text.utf8)).code == "ExpiredToken")
    }

    @Test(arguments: ["", "<html><body>502", "<Error><Code>X</Code>", "<Other><Code>X</Code></Other>", "{}"])
    func takesOtherContentAsNoExplanation(text: String) {
        #expect(EngineProblem(Array(text.utf8)).code == "")
    }

    @Test func shortensLongWords() {
        let words = String(repeating: "w", count: 5000)
        #expect(EngineProblem(Array("<Error><Message>\(words)</Message></Error>".utf8)).message.count == 200)
    }

    private static func listing(_ body: String) -> [UInt8] {
        Array("<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(body)</ListBucketResult>".utf8)
    }

    @Test func readsListings() throws {
        let answer = try ListAnswer(
            Self.listing(
                """
                <Name>b</Name><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
                <Contents><Key>a%2Fb+c%2B</Key><Size>12</Size><Owner><ID>x</ID></Owner></Contents>
                <Contents><Size>0</Size><Key>z</Key></Contents>
                """))
        #expect(answer.isTruncated)
        #expect(answer.entries == [.init(key: Array("a/b c+".utf8), size: 12), .init(key: Array("z".utf8), size: 0)])
    }

    @Test func readsKeysThatAreNotEncoded() throws {
        let answer = try ListAnswer(Self.listing("<Contents><Key>a+%41&amp;</Key><Size>1</Size></Contents>"))
        #expect(answer.entries == [.init(key: Array("a+%41&".utf8), size: 1)])
        #expect(!answer.isTruncated)
    }

    @Test(arguments: ["", "<IsTruncated>false</IsTruncated>"])
    func readsEmptyListings(body: String) throws {
        #expect(try ListAnswer(Self.listing(body)).entries.isEmpty)
    }

    @Test(arguments: [
        "<Error><Code>X</Code></Error>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents>",
    ])
    func refuses(text: String) {
        #expect(throws: XMLScanner.Fault.self) { try ListAnswer(Array(text.utf8)) }
    }
}
