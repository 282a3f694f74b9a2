import Testing
import TransferHTTP
import TransferTestSupport

@Suite struct HostileBytesTests {
    /// Streams that repeat their beginning without end. Each is refused long before its end.
    private static let endless: [(front: String, again: String, statuses: [Int])] = [
        ("", "A", [501]), ("", "\r\n", [400]), ("GET /", "a", [414]), ("GET / HTTP/1.1\r\n", "a", [431]),
        ("GET / HTTP/1.1\r\nX: ", "a", [431]), ("GET / HTTP/1.1\r\n", "X: a\r\n", [431]),
        ("GET / HTTP/1.1\r\n", "X: \(String(repeating: "a", count: 4000))\r\n", [431]),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "0", [400]),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1", ";a", [400]),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: a\r\n", [431]),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX:", " ", [431]),
    ]

    /// 2 MiB, shown byte by byte, as an attacker would to keep the reader busy: a caller holds fewer bytes than the
    /// window, and the fault comes within the limits of a head and a line.
    @Test(.timeLimit(.minutes(10)), arguments: endless)
    func headsThatNeverEnd(_ front: String, _ again: String, _ statuses: [Int]) {
        var tail = Array(again.utf8)
        while tail.count < 2 << 20 { tail += tail }
        let bytes = Array(front.utf8) + tail
        var reader = RequestReader()
        var (start, end, fault) = (0, 0, HTTPFault?.none)
        bytes.withUnsafeBytes { all in
            while end < all.count, fault == nil {
                end += 1
                do throws(HTTPFault) {
                    while true {
                        let shown = UnsafeRawBufferPointer(rebasing: all[start..<end])
                        let (step, consumed) = try reader.next(shown)
                        start += consumed
                        if step == .needsMore { break }
                    }
                } catch { fault = error }
                if end - start > RequestReader.window { break }
            }
        }
        #expect(fault.map { statuses.contains($0.status) } == true && end <= HTTPLimits.head + HTTPLimits.fieldLine)
    }

    /// Many chunks of one byte with extensions cost no more than their bytes.
    @Test(.timeLimit(.minutes(10))) func tinyChunks() {
        let chunk = "1;\(String(repeating: "a", count: 255))\r\nx\r\n"
        let text =
            "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 500)
            + "0\r\n\r\n"
        let heard = MessageListener.requests(Array(text.utf8), cutAt: Array(0..<text.utf8.count))
        #expect(heard.dropFirst() == [.content(String(repeating: "x", count: 500)), .end])
    }

    private static let words: [String] = [
        "GET / HTTP/1.1\r\n", "PUT /a HTTP/1.1\r\n", "OPTIONS * HTTP/1.0\r\n", "GET http://a/ HTTP/1.1\r\n",
        "Host: a\r\n",
        "Content-Length: 3\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n",
        "X: y\r\n", "Connection: close\r\n", "\r\n", "\r\n", "\r\n", "3\r\nabc\r\n", "0\r\n\r\n", "0\r\n",
        "1;a=\"b\"\r\nx\r\n",
        "abc", "\n", "\r", " ", "\t", ":", "\0", "é", "ffffffffffffffff\r\n", "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 \r\n",
        "HTTP/1.1 204 No Content\r\n", "HTTP/1.0 404\r\n",
    ]

    /// A stream with a valid beginning, and sometimes a wrong byte.
    private static func stream(_ generator: inout SplitMix64, _ fronts: [String]) -> [UInt8] {
        var bytes = Array((fronts.randomElement(using: &generator) ?? "").utf8)
        for _ in 0..<Int.random(in: 0..<12, using: &generator) {
            bytes += Array((words.randomElement(using: &generator) ?? "").utf8)
        }
        for _ in 0..<Int.random(in: 0..<3, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: place)
            }
        }
        return bytes
    }

    private static func cuts(_ count: Int, _ generator: inout SplitMix64) -> [Int] {
        (0..<Int.random(in: 0..<8, using: &generator)).map { _ in Int.random(in: 0...count, using: &generator) }
            .sorted()
    }

    /// The listener checks the consumed count, and that content lies within the shown bytes.
    @Test(arguments: 0..<8) func randomRequests(_ seed: Int) {
        var generator = SplitMix64(seed: UInt64(seed))
        let fronts = [
            "", "GET / HTTP/1.1\r\nHost: a\r\n", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]
        for _ in 0..<300 {
            let bytes = Self.stream(&generator, fronts)
            let whole = MessageListener.requests(bytes)
            let cuts = Self.cuts(bytes.count, &generator)
            #expect(MessageListener.requests(bytes, cutAt: cuts) == whole)
            #expect(MessageListener.requests(bytes, cutAt: Array(bytes.indices)) == whole)
        }
    }

    @Test(arguments: 0..<8) func randomBytes(_ seed: Int) {
        var generator = SplitMix64(seed: UInt64(100 + seed))
        for _ in 0..<500 {
            let bytes = generator.bytes(Int.random(in: 0..<300, using: &generator))
            let whole = MessageListener.requests(bytes)
            #expect(MessageListener.requests(bytes, cutAt: Self.cuts(bytes.count, &generator)) == whole)
        }
    }

    @Test(arguments: 0..<8) func randomAnswers(_ seed: Int) {
        var generator = SplitMix64(seed: UInt64(200 + seed))
        let fronts = [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ]
        for _ in 0..<500 {
            // Repaired UTF-8 would move the cuts.
            let text = String(decoding: Self.stream(&generator, fronts), as: UTF8.self)
            let cuts = Self.cuts(text.utf8.count, &generator)
            let methods: [HTTPMethod] = [.get, .head, .put]
            let whole = MessageListener.answers(text, to: methods, closes: true)
            #expect(MessageListener.answers(text, to: methods, cutAt: cuts, closes: true) == whole)
        }
    }

    /// A caller that shows fewer bytes than before, which is wrong, gets only steps or faults.
    @Test func callersThatShowLess() {
        for count in 1..<40 {
            var reader = RequestReader()
            for shown in [count, 1, 0, count] {
                let bytes = [UInt8](repeating: UInt8(ascii: "A"), count: shown)
                let consumed = bytes.withUnsafeBytes { try? reader.next($0).consumed }
                #expect(consumed ?? 0 <= shown)
            }
        }
    }
}
