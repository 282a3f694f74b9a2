import Testing
import TransferHTTP
import TransferTestSupport

/// RFC 9110, section 5.6.7.
@Suite struct HTTPDateTests {
    private static let now = HTTPDate(clamping: 1_795_000_000)

    private static func seconds(_ text: String, now: HTTPDate = now) -> Int64? {
        HTTPDate(text.utf8, now: now)?.seconds
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ]) func theThreeForms(_ text: String) {
        #expect(Self.seconds(text) == 784_111_777)
        #expect(HTTPDate(text.utf8, now: Self.now)?.text == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func writing() {
        #expect(HTTPDate(clamping: 0).text == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate(clamping: -1).text == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate(clamping: .max).text == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(clamping: .min).text == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(HTTPDate(clamping: 1_709_164_800).text == "Thu, 29 Feb 2024 00:00:00 GMT")
    }

    @Test func whatIsWrittenIsRead() {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<2000 {
            let date = HTTPDate(clamping: .random(in: -62_167_219_200...253_402_300_799, using: &generator))
            #expect(HTTPDate(date.text.utf8, now: Self.now) == date)
        }
    }

    static let refused: [(String, Comment)] = [
        ("", "nothing"), ("Sun, 06 Nov 1994 08:49:37", "no zone"), ("Sun, 06 Nov 1994 08:49:37 UTC", "another zone"),
        ("Sun, 06 Nov 1994 08:49:37 GMT ", "a blank behind it"), (" Sun, 06 Nov 1994 08:49:37 GMT", "a blank in front"),
        ("Mon, 06 Nov 1994 08:49:37 GMT", "another weekday"), ("Sunday, 06 Nov 1994 08:49:37 GMT", "a long name"),
        ("Sun, 06-Nov-94 08:49:37 GMT", "a short name"), ("Sunday Nov  6 08:49:37 1994", "a long name"),
        ("sun, 06 Nov 1994 08:49:37 GMT", "small letters"), ("Sun, 06 nov 1994 08:49:37 GMT", "small letters"),
        ("Sun, 6 Nov 1994 08:49:37 GMT", "one digit"), ("Sun, 31 Nov 1994 08:49:37 GMT", "no such day"),
        ("Thu, 29 Feb 1900 00:00:00 GMT", "no such day"), ("Sun, 06 Nov 1994 24:00:00 GMT", "no such hour"),
        ("Sun, 06 Nov 1994 08:60:37 GMT", "no such minute"), ("Sun, 06 Nov 1994 08:49:60 GMT", "no such second"),
        ("Sat, 31 Dec 2016 23:59:60 GMT", "a leap second"),
        ("Sun, 06 Nov 94 08:49:37 GMT", "two digits"), ("Sun, 06 Nov 19940 08:49:37 GMT", "five digits"),
        ("Sunday, 06-Nov-1994 08:49:37 GMT", "four digits"), ("Sun Nov 6 08:49:37 1994", "one blank"),
        ("Sun Nov 06 08:49:37 1994 GMT", "text behind it"), ("Sun, +6 Nov 1994 08:49:37 GMT", "a sign"),
        ("Sun,06 Nov 1994 08:49:37 GMT", "no blank"), ("784111777", "a number"),
        ("1994-11-06T08:49:37Z", "another form"),
    ]

    @Test(arguments: refused) func refusals(_ text: String, _ reason: Comment) {
        #expect(Self.seconds(text) == nil, reason)
    }

    /// A year of two digits is at most 50 years in the future.
    @Test func yearsOfTwoDigits() {
        let now = HTTPDate(clamping: 1_767_225_600)  // 2026
        #expect(HTTPDate("Wednesday, 01-Jan-76 00:00:00 GMT".utf8, now: now)?.text == "Wed, 01 Jan 2076 00:00:00 GMT")
        #expect(HTTPDate("Saturday, 01-Jan-77 00:00:00 GMT".utf8, now: now)?.text == "Sat, 01 Jan 1977 00:00:00 GMT")
        #expect(HTTPDate("Thursday, 01-Jan-26 00:00:00 GMT".utf8, now: now)?.text == "Thu, 01 Jan 2026 00:00:00 GMT")
        #expect(HTTPDate("Saturday, 01-Jan-00 00:00:00 GMT".utf8, now: now)?.text == "Sat, 01 Jan 2000 00:00:00 GMT")
        let late = HTTPDate(clamping: 3_786_912_000)  // 2090
        #expect(HTTPDate("Friday, 01-Jan-10 00:00:00 GMT".utf8, now: late) == nil, "a Wednesday in 2110")
        #expect(HTTPDate("Wednesday, 01-Jan-10 00:00:00 GMT".utf8, now: late)?.text == "Wed, 01 Jan 2110 00:00:00 GMT")
    }

    @Test func changedBytes() {
        let texts = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        for text in texts.map({ Array($0.utf8) }) {
            for place in text.indices {
                for byte in UInt8.min...UInt8.max {
                    var changed = text
                    changed[place] = byte
                    _ = HTTPDate(changed, now: Self.now)
                }
                #expect(HTTPDate(text.prefix(place), now: Self.now) == nil)
            }
        }
    }
}
