import Testing
import TransferHTTP

/// Every refused form, with its status and the reason.
@Suite struct RefusedRequestsTests {
    struct Refused: CustomTestStringConvertible {
        let text: String
        let status: Int
        let why: String

        var testDescription: String { why }

        init(_ text: String, _ status: Int, _ why: String) {
            (self.text, self.status, self.why) = (text, status, why)
        }
    }

    /// - Parameter status: status that a request with this line is refused with.
    private static func line(_ line: String, _ status: Int, _ why: String) -> Refused {
        Refused("\(line)\r\nHost: a\r\n\r\n", status, why)
    }

    private static func field(_ field: String, _ status: Int, _ why: String) -> Refused {
        Refused("PUT / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n", status, why)
    }

    private static func host(_ host: String, _ why: String) -> Refused {
        Refused("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400, "Host: \(why)")
    }

    private static let lines = [
        line("GET  / HTTP/1.1", 400, "an empty target between two spaces"),
        line("GET / HTTP/1.1 ", 400, "a space behind the version"),
        line("GET /  HTTP/1.1", 400, "two spaces before the version"),
        line(" GET / HTTP/1.1", 400, "a space before the method"),
        line("GET\t/ HTTP/1.1", 400, "a tab for a space"),
        line("GET /\tHTTP/1.1", 400, "a tab for the second space"),
        line("GET /", 400, "HTTP/0.9"), line("GET", 400, "a method alone"),
        line("GET / x HTTP/1.1", 400, "a space in the target"),
        line("GE(T / HTTP/1.1", 400, "a method that is no token"),
        line("GÉT / HTTP/1.1", 400, "a method that is not ASCII"),
        line("GET /é HTTP/1.1", 400, "a target that is not ASCII"),
        line("GET /\u{1}a HTTP/1.1", 400, "a control character in the target"),
        line("GET /\u{7F} HTTP/1.1", 400, "DEL in the target"),
        line("GET /\0 HTTP/1.1", 400, "NUL in the target"),
        line("GET /a#b HTTP/1.1", 400, "a fragment, which some would cut off"),
        line("GET a HTTP/1.1", 400, "a target without a slash"),
        line("GET ftp://a/ HTTP/1.1", 400, "a URI of something else"),
        line("GET http:/a/ HTTP/1.1", 400, "a URI without an authority"),
        line("GET http://b/ HTTP/1.1", 400, "a URI of another Host"),
        line("GET http://a:80/ HTTP/1.1", 400, "a URI with a port that the Host doesn't have"),
        line("GET http:/// HTTP/1.1", 400, "a URI with an empty authority"),
        line("GET http://u@a/ HTTP/1.1", 400, "a URI with a user"),
        line("GET a:80 HTTP/1.1", 400, "authority-form without CONNECT"),
        line("CONNECT a:80 HTTP/1.1", 501, "CONNECT"), line("CONNECT / HTTP/1.1", 501, "CONNECT to a path"),
        line("GET * HTTP/1.1", 400, "asterisk-form without OPTIONS"),
        line("OPTIONS ** HTTP/1.1", 400, "more than an asterisk"),
        line("OPTIONS */ HTTP/1.1", 400, "an asterisk and a slash"),
        line("PRI * HTTP/2.0", 505, "the preface of HTTP/2"), line("GET / HTTP/2.0", 505, "HTTP/2.0"),
        line("GET / HTTP/0.9", 505, "HTTP/0.9 by name"), line("GET / HTTP/1.2", 505, "HTTP/1.2"),
        line("GET / HTTP/3.1", 505, "HTTP/3.1"), line("GET / HTTP/1.10", 400, "a version with two digits"),
        line("GET / http/1.1", 400, "a version in small letters"), line("GET / HTTP/1", 400, "half a version"),
        line("GET / HTTP/1,1", 400, "a comma in the version"), line("GET / HTTP/x.1", 400, "a letter in the version"),
        line("GET / HTTPS/1.1", 400, "another protocol"), line("GET / ", 400, "an empty version"),
        Refused("\r\n\r\n\r\nGET / HTTP/1.1\r\n", 400, "a third empty line in front"),
        Refused("\nGET / HTTP/1.1\r\n", 400, "an LF in front"),
        Refused("GET / HTTP/1.1\nHost: a\n\n", 400, "LF for CRLF"),
        Refused("GET / HTTP/1.1\rHost: a\r\r", 400, "CR for CRLF"),
        Refused("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400, "CR CR LF"),
        Refused("GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "LF behind a field"),
        Refused("GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "LF for the empty line"),
        Refused("GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n", 400, "CR in front of a field"),
    ]

    private static let fields = [
        Refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "a blank before the first field"),
        field("X: a\r\n b", 400, "a folded field"), field("X: a\r\n\tb", 400, "a field folded with a tab"),
        field("X: a\r\n \r\nY: b", 400, "a line of blanks"), field("X : a", 400, "a space before the colon"),
        field("X\t: a", 400, "a tab before the colon"), field(": a", 400, "an empty name"),
        field("X", 400, "no colon"), field("X y: a", 400, "a space in a name"),
        field("X\u{E9}: a", 400, "a name that is not ASCII"), field("\"X\": a", 400, "quotes in a name"),
        field("X\0: a", 400, "NUL in a name"), field("X: a\0b", 400, "NUL in a value"),
        field("X: a\u{1}", 400, "a control character in a value"), field("X: \u{7F}", 400, "DEL in a value"),
        field("X: a\u{B}b", 400, "a vertical tab"), field("X: a\rb", 400, "CR in a value"),
        field("X: a\nY: b", 400, "LF in a value"),
        field("Expect: 200-ok", 417, "an unknown expectation"), field("Expect:", 417, "an empty expectation"),
        field("Expect: 100-continue, x", 417, "two expectations"),
        field("Expect: 100-continue\r\nExpect: 100-continue", 417, "the same expectation twice"),
        field("Host: a", 400, "two Hosts, the same"), field("Host: b", 400, "two Hosts"),
        Refused("GET / HTTP/1.1\r\n\r\n", 400, "no Host"),
        Refused("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400, "two Hosts in HTTP/1.0"),
        Refused("GET http://a/ HTTP/1.0\r\nHost: b\r\n\r\n", 400, "a URI of another Host in HTTP/1.0"),
        Refused("GET http://a,b/ HTTP/1.0\r\n\r\n", 400, "a URI with two authorities"),
    ]

    private static let hosts = [
        host("", "empty"), host("a b", "a space"), host("a,b", "two in one"), host("a/b", "a path"),
        host("a?b", "a query"), host("a#b", "a fragment"), host("u@a", "a user"), host("http://a", "a URI"),
        host("a\\b", "a backslash"), host("a\"b", "a quote"), host("é", "not ASCII"), host("a:b", "no port"),
        host("a:65536", "a port that is too large"), host("a:000001", "a port of six digits"),
        host("a:+1", "a port with a sign"), host("a:1:2", "two ports"), host(":80", "a port alone"),
        host("::1", "IPv6 without brackets"), host("[::1", "half a bracket"), host("[]", "nothing in brackets"),
        host("[1]", "no address in brackets"), host("[::1]80", "a port without a colon"),
        host("[::1]:x", "no port behind brackets"), host("[fe80::1%25eth0]", "a zone"),
        host("[v1.a:b]", "an address of the future"), host("a]", "a bracket behind"), host("a%4", "half an escape"),
        host("a%", "an escape without digits"), host("a%4g", "an escape with a letter"), host("<a>", "angle brackets"),
    ]

    @Test(arguments: lines + fields + hosts) func refused(_ refused: Refused) {
        let heard = MessageListener.everyWay(refused.text)
        #expect(heard.count == 1 && heard.first?.fault?.status == refused.status, "\(refused.why): \(heard)")
    }

    /// Every byte in a name, a value and a target: exactly those of the grammar are accepted.
    @Test func everyByte() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max {
            let isVisible = (0x21...0x7E).contains(byte)
            expect(
                Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [byte], Array("Y: b\r\n\r\n".utf8),
                isTaken: token.contains(byte) || byte == UInt8(ascii: ":"), "name \(byte)")
            expect(
                Array("GET / HTTP/1.1\r\nHost: a\r\nX: b".utf8) + [byte], Array("c\r\n\r\n".utf8),
                isTaken: byte == 9 || (byte >= 0x20 && byte != 0x7F), "value \(byte)")
            expect(
                Array("GET /".utf8) + [byte], Array("x HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
                isTaken: isVisible && byte != UInt8(ascii: "#"), "target \(byte)")
            expect(
                Array("G".utf8) + [byte], Array("T / HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
                isTaken: token.contains(byte), "method \(byte)")
        }
    }

    private func expect(_ front: [UInt8], _ back: [UInt8], isTaken: Bool, _ what: String) {
        let heard = MessageListener.requests(front + back)
        if isTaken {
            #expect(heard.count == 2 && heard.last == .end, "\(what): \(heard)")
        } else {
            #expect(heard.count == 1 && heard.first?.fault?.status == 400, "\(what): \(heard)")
        }
    }
}
