import Testing
import TransferHTTP
import TransferTestSupport

/// RFC 9110, sections 14.1.2, 14.2, 14.4 and 14.6.
@Suite struct ByteRangesTests {
    private static func answer(_ text: String, size: UInt64 = 10_000) -> ByteRanges.Answer? {
        ByteRanges(field: text.utf8)?.answer(size: size)
    }

    static let known: [(String, [Range<UInt64>])] = [
        ("bytes=0-499", [0..<500]), ("bytes=500-999", [500..<1000]), ("bytes=-500", [9500..<10_000]),
        ("bytes=9500-", [9500..<10_000]), ("bytes=0-0,-1", [0..<1, 9999..<10_000]),
        ("bytes= 0-999, 4500-5499, -1000", [0..<1000, 4500..<5500, 9000..<10_000]),
        ("BYTES=0-0", [0..<1]), ("bytes=,0-0,,\t1-1 ,", [0..<1, 1..<2]),
        ("bytes=0-99999999999999999999999", [0..<10_000]),
        ("bytes=-99999999999999999999999", [0..<10_000]), ("bytes=0-9999", [0..<10_000]),
        ("bytes=9999-10000", [9999..<10_000]),
        ("bytes=500-600,601-999", [500..<601, 601..<1000]), ("bytes=9-9,0-0", [9..<10, 0..<1]),
        ("bytes=0-0,10000-", [0..<1]), ("bytes=0-9,5-14", [0..<10, 5..<15]), ("bytes=0-,0-", [0..<10_000, 0..<10_000]),
    ]

    @Test(arguments: known) func ranges(_ text: String, _ ranges: [Range<UInt64>]) {
        #expect(Self.answer(text) == .ranges(ranges))
    }

    @Test(arguments: [
        "bytes=10000-", "bytes=10000-10001", "bytes=-0", "bytes=99999999999999999999999-", "bytes=-0,10000-20000",
    ])
    func unsatisfiable(_ text: String) {
        #expect(Self.answer(text) == .unsatisfiable)
    }

    static let ignored: [(String, Comment)] = [
        ("", "nothing"), ("bytes", "no ranges"), ("bytes=", "no ranges"), ("bytes=,", "no ranges"),
        ("bytes=-", "no numbers"),
        ("bytes=5", "no hyphen"), ("bytes=5-4", "backwards"), ("bytes=0-0,5-4", "backwards"),
        ("bytes=a-b", "no digits"),
        ("bytes=0-0 1-1", "no comma"), ("bytes=0 - 0", "blanks"), ("bytes=0-0;1-1", "no comma"),
        ("items=0-0", "another unit"),
        ("bytes =0-0", "a blank"), (" bytes=0-0", "a blank"), ("bytes=+0-0", "a sign"), ("bytes=0x0-0", "no decimal"),
        ("bytes=--1", "two hyphens"), ("bytes:0-0", "a colon"),
    ]

    @Test(arguments: ignored) func whatIsIgnored(_ text: String, _ reason: Comment) {
        #expect(Self.answer(text) == nil, reason)
    }

    @Test(arguments: [(15, true), (16, true), (17, false)]) func mostRanges(_ count: Int, _ fits: Bool) {
        let text = "bytes=" + (0..<count).map { "\(2 * $0)-\(2 * $0)" }.joined(separator: ",")
        #expect((Self.answer(text) != nil) == fits)
    }

    /// No byte is sent more than twice.
    @Test func copies() {
        #expect(Self.answer("bytes=0-9,0-9") == .ranges([0..<10, 0..<10]))
        #expect(Self.answer("bytes=0-9,0-9,9-9") == .whole)
        #expect(Self.answer("bytes=5-20,0-9,9-9") == .whole)
        #expect(Self.answer("bytes=0-9,0-9,10-19,10-19") == .ranges([0..<10, 0..<10, 10..<20, 10..<20]))
        #expect(Self.answer("bytes=0-,0-,0-") == .whole)
    }

    @Test func smallContent() {
        #expect(Self.answer("bytes=-1", size: 0) == .whole)
        #expect(Self.answer("bytes=-0", size: 0) == .unsatisfiable)
        #expect(Self.answer("bytes=0-", size: 0) == .unsatisfiable)
        #expect(Self.answer("bytes=0-", size: 1) == .ranges([0..<1]))
        #expect(Self.answer("bytes=0-0,-1", size: 1) == .ranges([0..<1, 0..<1]))
        #expect(Self.answer("bytes=1-", size: 1) == .unsatisfiable)
    }

    @Test func largeContent() {
        let size = UInt64.max
        #expect(Self.answer("bytes=0-", size: size) == .ranges([0..<size]))
        #expect(
            Self.answer("bytes=-9223372036854775807", size: size) == .ranges([size - 9_223_372_036_854_775_807..<size]))
        #expect(
            Self.answer("bytes=9223372036854775807-9223372036854775807", size: size)
                == .ranges([9_223_372_036_854_775_807..<9_223_372_036_854_775_808]))
    }

    @Test func fields() {
        var fields = HTTPFields()
        #expect(ByteRanges(fields) == nil)
        fields.append("range", "bytes=0-0")
        #expect(ByteRanges(fields) != nil)
        fields.append("range", "bytes=0-0")
        #expect(ByteRanges(fields) == nil, "two lines")
    }

    /// Whatever ranges are requested, the answer has at most twice the content, and only ranges within it.
    @Test(arguments: 0..<8 as Range<UInt64>) func randomRanges(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let alphabet = Array("0123456789--,, ".utf8)
        for _ in 0..<4000 {
            let count = Int.random(in: 0...20, using: &generator)
            let text = (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            let size = UInt64.random(in: 0...30, using: &generator)
            guard case .ranges(let ranges)? = ByteRanges(field: "bytes=".utf8 + text)?.answer(size: size) else {
                continue
            }
            #expect(ranges.allSatisfy { !$0.isEmpty && $0.upperBound <= size } && ranges.count <= 16)
            #expect(ranges.reduce(0) { $0 + UInt64($1.count) } <= 2 * size)
        }
    }

    // MARK: Answers

    @Test func contentRange() {
        #expect(ContentRange.text(42..<1234, size: 1234) == "bytes 42-1233/1234")
        #expect(ContentRange.unsatisfied(size: 1234) == "bytes */1234")
        #expect(ContentRange.text(0..<1, size: .max) == "bytes 0-0/18446744073709551615")
    }

    @Test func severalRanges() {
        let body = MultipartByteRanges(
            [500..<1000, 7000..<8000], size: 8000, contentType: "application/pdf", boundary: "THIS_STRING_SEPARATES")
        #expect(body.contentType == "multipart/byteranges; boundary=THIS_STRING_SEPARATES")
        let heads = [
            "--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\nContent-Range: bytes 500-999/8000\r\n\r\n",
            "\r\n--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n"
                + "Content-Range: bytes 7000-7999/8000\r\n\r\n",
        ]
        let end = "\r\n--THIS_STRING_SEPARATES--\r\n"
        #expect(body.head(of: 0) == Array(heads[0].utf8))
        #expect(body.head(of: 1) == Array(heads[1].utf8))
        #expect(body.end == Array(end.utf8))
        #expect(body.length == UInt64(heads[0].utf8.count + heads[1].utf8.count + end.utf8.count + 1500))
    }

    @Test func lengthThatDoesNotFit() {
        let body = MultipartByteRanges(
            [0..<UInt64.max, 0..<UInt64.max], size: .max, contentType: "a/b", boundary: "x")
        #expect(body.length == nil)
    }
}
