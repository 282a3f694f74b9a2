import Testing
import TransferHTTP

/// Each limit: below it, at it and above it.
@Suite struct RequestLimitsTests {
    private static func status(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        let whole = MessageListener.requests(bytes)
        #expect(MessageListener.requests(bytes, cutAt: Array(bytes.indices)) == whole)
        for cut in stride(from: 0, to: bytes.count, by: 997) {
            #expect(MessageListener.requests(bytes, cutAt: [cut]) == whole)
        }
        if let fault = whole.last?.fault {
            #expect(whole.count == 1)
            return fault.status
        }
        #expect(whole.count == 2 && whole.last == .end)
        return nil
    }

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    @Test(arguments: [(8191, nil), (8192, nil), (8193, 414), (20000, 414)] as [(Int, Int?)])
    func requestLine(_ count: Int, _ status: Int?) {
        let target = "/" + Self.repeated("a", count - 14)
        #expect(Self.status("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") == status)
    }

    @Test(arguments: [(31, nil), (32, nil), (33, 501), (8192, 501), (9000, 501)] as [(Int, Int?)])
    func method(_ count: Int, _ status: Int?) {
        #expect(Self.status(Self.repeated("M", count) + " / HTTP/1.1\r\nHost: a\r\n\r\n") == status)
    }

    /// The method is within its limit, the target is not.
    @Test(arguments: [(31, 414), (32, 414), (33, 501)]) func methodsInLongLines(_ count: Int, _ status: Int) {
        #expect(Self.status(Self.repeated("M", count) + " /" + Self.repeated("a", 9000)) == status)
    }

    @Test func longLinesWithoutAMethod() {
        #expect(Self.status(Self.repeated("(", 9000)) == 400)
        #expect(Self.status(Self.repeated("é", 9000)) == 400)
        #expect(Self.status(Self.repeated(" ", 9000)) == 414)
    }

    @Test(arguments: [(8191, nil), (8192, nil), (8193, 431), (20000, 431)] as [(Int, Int?)])
    func fieldLine(_ count: Int, _ status: Int?) {
        let value = Self.repeated("a", count - 3)
        #expect(Self.status("GET / HTTP/1.1\r\nHost: a\r\nX: \(value)\r\n\r\n") == status)
        let name = Self.repeated("a", count - 1)
        #expect(Self.status("GET / HTTP/1.1\r\nHost: a\r\n\(name):\r\n\r\n") == status)
    }

    @Test(arguments: [(99, nil), (100, nil), (101, 431)] as [(Int, Int?)])
    func fields(_ count: Int, _ status: Int?) {
        #expect(Self.status("GET / HTTP/1.1\r\nHost: a\r\n" + Self.repeated("X: a\r\n", count - 1) + "\r\n") == status)
    }

    /// The count includes the first line and the empty line.
    @Test(arguments: [(32767, nil), (32768, nil), (32769, 431), (40000, 431)] as [(Int, Int?)])
    func head(_ count: Int, _ status: Int?) {
        let front = "GET / HTTP/1.1\r\nHost: a\r\n" + Self.repeated("X: " + Self.repeated("a", 7995) + "\r\n", 4)
        let last = "Y: " + Self.repeated("a", count - front.utf8.count - 7) + "\r\n\r\n"
        #expect((front + last).utf8.count == count)
        #expect(Self.status(front + last) == status)
    }
}
