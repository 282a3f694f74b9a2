import Testing
import TransferHTTP
import TransferTestSupport

/// Forms at, below and above each limit, and hostile content.
@Suite struct MultipartBoundsTests {
    private static let name = "Content-Disposition: form-data; name=a"

    private static func form(_ preamble: Int = 0, _ epilogue: Int = 0, head: String = name) -> [UInt8] {
        let front = preamble == 0 ? [] : Array(repeating: UInt8(0x70), count: preamble) + [0x0D, 0x0A]
        return front + FormSample.bytes("--AaB03x\n\(head)\n\nx\n--AaB03x--\n")
            + Array(repeating: UInt8(0x65), count: epilogue)
    }

    private static func end(_ form: [UInt8]) -> FormEvent? {
        let last = FormSample.events(form).last
        #expect(FormSample.events(form, cutAt: Array(form.indices)).last == last)
        return last
    }

    @Test(arguments: [(1, FormEvent.end), (1023, .end), (1024, .end), (1025, .fault(400)), (3000, .fault(400))])
    func surroundings(_ count: Int, _ event: FormEvent) {
        #expect(Self.end(Self.form(count)) == event)
        #expect(Self.end(Self.form(0, count)) == event)
        #expect(Self.end(Self.form(count, count)) == event)
    }

    /// A preamble without a boundary is refused at once, not at the end of the stream.
    @Test(arguments: [(1024, true), (1025, false)]) func preambleWithoutBoundary(_ count: Int, _ fits: Bool) throws {
        var reader = MultipartReader(boundary: try #require(MultipartBoundary("AaB03x")))
        let bytes = Array(repeating: UInt8(0x70), count: count)
        let progress = try? reader.next(bytes.span.bytes, isLast: false)
        #expect(progress?.step == (fits ? .needsMore : nil))
        #expect(progress?.consumed ?? 0 == 0)
    }

    @Test(arguments: [(1024, FormEvent.end), (1025, .fault(400))]) func aroundNoParts(_ count: Int, _ event: FormEvent)
    {
        let around = Array(repeating: UInt8(0x70), count: count)
        #expect(Self.end(around + FormSample.bytes("\n--AaB03x--\n") + around) == event)
        #expect(Self.end(FormSample.bytes("--AaB03x--\n") + around) == event)
    }

    @Test(arguments: [(8191, FormEvent.end), (8192, .end), (8193, .fault(413)), (20000, .fault(413))])
    func heads(_ count: Int, _ event: FormEvent) {
        let filler = "\r\nX: "
        let rest = count - Self.name.utf8.count - filler.utf8.count - 4
        let head = Self.name + filler + String(repeating: "y", count: rest)
        #expect(Self.end(Self.form(head: head)) == event)
        #expect(Self.end(Self.form(1024, head: head)) == event)
    }

    @Test(arguments: [(999, FormEvent.end), (1000, .end), (1001, .fault(413))])
    func parts(_ count: Int, _ event: FormEvent) {
        let part = FormSample.bytes("--AaB03x\n\(Self.name)\n\n\n")
        let form = Array(repeating: part, count: count).flatMap { $0 } + FormSample.bytes("--AaB03x--")
        let events = FormSample.events(form)
        #expect(events.last == event)
        #expect(events.count { $0 == .endOfPart } == min(count, 1000))
    }

    @Test(arguments: ["a", String(repeating: "b", count: 70), "'()+_,-./:=?", "a b"]) func boundaries(_ text: String) {
        let form = FormSample.bytes("--\(text)\n\(Self.name)\n\nx\n--\(text)--")
        #expect(FormSample.events(form, boundary: text).last == .end)
        #expect(FormSample.events(form, cutAt: Array(form.indices), boundary: text).last == .end)
    }

    static let refused: [(String, Comment)] = [
        ("", "none"), (String(repeating: "b", count: 71), "71 bytes"), ("a ", "a space at the end"),
        ("a\r", "a control"),
        ("a\"", "a quote"), ("a;b", "a semicolon"), ("ä", "no ASCII"), ("a@b", "an at sign"),
    ]

    @Test(arguments: refused) func refusedBoundaries(_ text: String, _ reason: Comment) {
        #expect(MultipartBoundary(text) == nil, reason)
    }

    @Test func boundariesOfTypes() throws {
        let type = try #require(MediaType("Multipart/Form-Data; Boundary=\"a b\"".utf8))
        #expect(try MultipartBoundary(type) == MultipartBoundary("a b"))
        let none = try #require(MediaType("multipart/form-data".utf8))
        #expect(throws: HTTPFault.self) { try MultipartBoundary(none) }
        let other = try #require(MediaType("multipart/mixed; boundary=a".utf8))
        let fault = #expect(throws: HTTPFault.self) { try MultipartBoundary(other) }
        #expect(fault?.status == 415)
    }

    /// The window is large enough: a caller that never holds more bytes makes progress or gets a fault, whatever is
    /// sent.
    @Test func theWindowIsEnough() {
        let boundary = String(repeating: "b", count: 70)
        let head = Self.name + "\r\nX: " + String(repeating: "y", count: 8192 - Self.name.utf8.count - 5 - 4)
        let front = Array(repeating: UInt8(0x70), count: 1024)
        let form = front + FormSample.bytes("\n--\(boundary)\n\(head)\n\n")
        #expect(form.count <= MultipartReader.window)
    }

    /// Content that is shown at once is one step, and content that resembles a boundary does not slow the reader down.
    @Test(arguments: ["x", "\r\n--AaB03", "\r", "\r\n"]) func longContent(_ text: String) throws {
        let content: [UInt8] = Array(String(repeating: text, count: 200_000).utf8) + [0x79]
        let form = FormSample.bytes("--AaB03x\n\(Self.name)\n\n") + content + FormSample.bytes("\n--AaB03x--")
        var reader = MultipartReader(boundary: try #require(MultipartBoundary("AaB03x")))
        func step(_ bytes: [UInt8]) throws(HTTPFault) -> MultipartProgress {
            try reader.next(bytes.span.bytes, isLast: true)
        }
        let rest = Array(form.dropFirst(try step(form).consumed))
        #expect(try step(rest).step == .content(0..<content.count))
        #expect(try step(Array(rest.dropFirst(content.count))).step == .endOfPart)
        #expect(try step([]).step == .end)
        #expect(throws: HTTPFault.self, "it is over") { try step([]) }
    }

    /// Random bytes that often look like a boundary give equal results in one piece and byte by byte, and never trap.
    @Test(arguments: 0..<8 as Range<UInt64>) func randomBytes(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let pieces = [
            "\r", "\n", "\r\n", "-", "--", "AaB03x", "--AaB03x\r\n", "\r\n--AaB03x", "x", "\0", "\r\n\r\n",
            "--AaB03x--", Self.name,
        ]
        for _ in 0..<400 {
            let count = Int.random(in: 0...24, using: &generator)
            let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }.joined()
            let form = Array("--AaB03x\r\n\(Self.name)\r\n\r\n".utf8) + Array(text.utf8)
            for bytes in [form, Array(text.utf8)] {
                let whole = FormSample.events(bytes)
                let cut = FormSample.events(bytes, cutAt: Array(bytes.indices))
                guard whole != cut else { continue }
                Issue.record("other steps of \(text.debugDescription)")
                return
            }
        }
    }
}
