import Testing
import TransferHTTP

/// Requests that two servers read differently, so that one finds a second request where the other finds content. None
/// may give a step after the fault, nor a head with two interpretations.
@Suite struct SmugglingTests {
    struct Attempt: CustomTestStringConvertible {
        /// Header fields of the POST request.
        let fields: String
        let status: Int
        let why: String

        var testDescription: String { why }

        init(_ fields: String, _ status: Int, _ why: String) {
            (self.fields, self.status, self.why) = (fields, status, why)
        }
    }

    private static let lengths = [
        Attempt("Content-Length: 6\r\nTransfer-Encoding: chunked", 400, "CL.TE: both"),
        Attempt("Transfer-Encoding: chunked\r\nContent-Length: 6", 400, "TE.CL: both, in the other order"),
        Attempt("Content-Length: 0\r\nTransfer-Encoding: chunked", 400, "both, one of them 0"),
        Attempt("Content-Length: 6\r\nTransfer-Encoding: x", 400, "both, with an unknown coding"),
        Attempt("Content-Length: x\r\nTransfer-Encoding: chunked", 400, "both, one of them no number"),
        Attempt("Content-Length:\r\nTransfer-Encoding:", 400, "both, and empty"),
        Attempt("Content-Length: 5\r\nContent-Length: 6", 400, "CL.CL: two lengths"),
        Attempt("Content-Length: 6\r\nContent-Length: 6", 400, "CL.CL: two lengths, the same"),
        Attempt("Content-Length: 6\r\nCONTENT-LENGTH: 0", 400, "two lengths, in another case"),
        Attempt("Content-Length: 6, 6", 400, "two lengths in one line"),
        Attempt("Content-Length: 6,", 400, "a comma"), Attempt("Content-Length: +6", 400, "a plus"),
        Attempt("Content-Length: -6", 400, "a minus"), Attempt("Content-Length: 0x6", 400, "hexadecimal"),
        Attempt("Content-Length: 6.0", 400, "a fraction"), Attempt("Content-Length: 6e0", 400, "an exponent"),
        Attempt("Content-Length: 1 0", 400, "a space within"), Attempt("Content-Length:", 400, "empty"),
        Attempt("Content-Length: 06", 400, "a zero in front: octal for some"),
        Attempt("Content-Length: 00", 400, "two zeros"), Attempt("Content-Length: \"6\"", 400, "quotes"),
        Attempt("Content-Length: ٦", 400, "a digit that is not ASCII"),
        Attempt("Content-Length: 1_0", 400, "an underscore, which Python's int() takes"),
        Attempt("Content-Length: 6\u{B}", 400, "a vertical tab"), Attempt("Content-Length: 6\0", 400, "NUL behind"),
        Attempt("Content-Length: 9223372036854775808", 413, "more than Int64"),
        Attempt("Content-Length: 18446744073709551616", 413, "2^64, 0 with an overflow"),
        Attempt("Content-Length: 18446744073709551622", 413, "2^64 + 6, 6 with an overflow"),
        Attempt("Content-Length: 99999999999999999999999999999999", 413, "more than 128 bits"),
        Attempt("Content-Length : 6", 400, "a space before the colon"),
        Attempt("Content-Length\0: 6", 400, "NUL in the name"),
        Attempt("X: y\r\n Content-Length: 6", 400, "a length in a folded line"),
        Attempt("X: y\nContent-Length: 6", 400, "a length behind LF"),
        Attempt("X: y\rContent-Length: 6", 400, "a length behind CR"),
    ]

    private static let codings = [
        Attempt("Transfer-Encoding: xchunked", 501, "TE.TE: another word"),
        Attempt("Transfer-Encoding: chunked, identity", 501, "chunked is not last"),
        Attempt("Transfer-Encoding: identity", 501, "identity"), Attempt("Transfer-Encoding: gzip", 501, "gzip alone"),
        Attempt("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", 501, "two lines, the last unknown"),
        Attempt("Transfer-Encoding: x\r\nTransfer-Encoding: chunked", 400, "two lines, the first unknown"),
        Attempt("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400, "two lines, the same"),
        Attempt("Transfer-Encoding: gzip, chunked", 400, "another coding in front"),
        Attempt("Transfer-Encoding: chunked, chunked", 400, "chunked twice"),
        Attempt("Transfer-Encoding: chunked,", 400, "a comma behind"),
        Attempt("Transfer-Encoding: ,chunked", 400, "a comma in front"),
        Attempt("Transfer-Encoding: \"chunked\"", 400, "quotes"), Attempt("Transfer-Encoding:", 400, "empty"),
        Attempt("Transfer-Encoding: chunked;q=1", 400, "a parameter"),
        Attempt("Transfer-Encoding: chun ked", 400, "a space within"),
        Attempt("Transfer-Encoding: \u{B}chunked", 400, "a vertical tab"),
        Attempt("Transfer-Encoding: chunked\u{A0}", 400, "a space of Unicode behind"),
        Attempt("Transfer-Encoding: \u{212A}", 400, "a Kelvin sign, k for who lowers Unicode"),
        Attempt("Transfer-Encoding: chun\u{212A}ed", 400, "chunked for who lowers Unicode"),
        Attempt("Transfer-Encoding:\r\n chunked", 400, "a folded value"),
        Attempt("Transfer-Encoding : chunked", 400, "a space before the colon"),
        Attempt(" Transfer-Encoding: chunked", 400, "a space before the name"),
        Attempt("Transfer-Encoding\t: chunked", 400, "a tab before the colon"),
        Attempt("X: X\nTransfer-Encoding: chunked", 400, "a coding behind LF"),
        Attempt("X: X\rTransfer-Encoding: chunked", 400, "a coding behind CR"),
        Attempt("Transfer-Encoding: chunked\n", 400, "LF behind the value"),
    ]

    @Test(arguments: lengths + codings) func attempt(_ attempt: Attempt) {
        let text =
            "POST / HTTP/1.1\r\nHost: a\r\n\(attempt.fields)\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
        let heard = MessageListener.everyWay(text)
        #expect(heard.count == 1 && heard.first?.fault?.status == attempt.status, "\(attempt.why): \(heard)")
    }

    @Test func codingsInHTTP10() {
        let heard = MessageListener.everyWay("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        #expect(heard.count == 1 && heard.first?.fault?.status == 400)
    }

    /// A name that only resembles a framing field is an ordinary field; without a length there is no content.
    @Test(arguments: ["Content_Length: 6", "Transfer_Encoding: chunked", "X-Content-Length: 6", "Content-Lengt: 6"])
    func namesThatLookLikeIt(_ field: String) {
        let heard = MessageListener.everyWay("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n")
        guard case .request(_, .none) = heard.first, heard.count == 2, heard.last == .end else {
            Issue.record("\(heard)")
            return
        }
    }

    /// A request within content is content, with each framing.
    @Test func requestsInContent() {
        let inner = "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
        let sized = MessageListener.everyWay("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 32\r\n\r\n" + inner)
        #expect(sized.dropFirst() == [.content(inner), .end])
        let chunked = MessageListener.everyWay(
            "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n\(inner)\r\n0\r\n\r\n")
        #expect(chunked.dropFirst() == [.content(inner), .end])
    }
}
