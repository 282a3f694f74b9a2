import Testing
import TransferHTTP
import TransferTestSupport

@Suite struct MultipartReaderTests {
    private static func field(_ name: String) -> FormEvent { .part(name: name, filename: nil, type: nil) }

    private static func head(_ fields: String) -> [UInt8] {
        FormSample.bytes("--AaB03x\n\(fields)\n\nx\n--AaB03x--")
    }

    private static let name = "Content-Disposition: form-data; name=a"

    @Test func aForm() {
        #expect(
            FormSample.events(FormSample.simple) == [
                Self.field("submit-name"), .content(Array("Larry".utf8)), .endOfPart,
                .part(name: "files", filename: Array("file1.txt".utf8), type: "text/plain"),
                .content(FormSample.bytes("... contents of file1.txt ...\n\n--AaB03\n\r\r\n-\n--AaB0")), .endOfPart,
                .end,
            ])
    }

    @Test func cutAnywhere() {
        let whole = FormSample.events(FormSample.simple)
        for cut in 0...FormSample.simple.count {
            #expect(FormSample.events(FormSample.simple, cutAt: [cut]) == whole, "cut at \(cut)")
        }
        #expect(FormSample.events(FormSample.simple, cutAt: Array(FormSample.simple.indices)) == whole)
    }

    @Test func cutTwice() {
        let form = FormSample.bytes("p\n--AaB03x\n\(Self.name)\n\n\n-\n--AaB03x\n\(Self.name)\n\n\n--AaB03x--\ne")
        let whole = FormSample.events(form)
        #expect(whole.count == 6 && whole.last == .end)
        for first in 0...form.count {
            for second in first...form.count {
                guard FormSample.events(form, cutAt: [first, second]) != whole else { continue }
                Issue.record("other steps when cut at \(first) and \(second)")
                return
            }
        }
    }

    /// A form that ends too early is a fault, wherever it ends; the last two bytes are the line end after the form.
    @Test func endsTooEarly() {
        for count in 0..<FormSample.simple.count - 2 {
            #expect(FormSample.events(Array(FormSample.simple.prefix(count))).last == .fault(400), "\(count) bytes")
        }
        #expect(FormSample.events(Array(FormSample.simple.dropLast(2))).last == .end)
        #expect(FormSample.events(Array(FormSample.simple.dropLast(1))).last == .fault(400), "half a line end")
    }

    @Test func formsWithoutParts() {
        #expect(FormSample.events(FormSample.bytes("--AaB03x--")) == [.end])
        #expect(FormSample.events(FormSample.bytes("--AaB03x--\n")) == [.end])
        #expect(FormSample.events([]) == [.fault(400)])
    }

    @Test func emptyContent() {
        #expect(
            FormSample.events(FormSample.bytes("--AaB03x\n\(Self.name)\n\n\n--AaB03x--")) == [
                Self.field("a"), .endOfPart, .end,
            ])
    }

    /// Text that repeats the beginning of a boundary is content.
    @Test(arguments: [
        "\r", "\r\n", "\r\n-", "\r\n--", "\r\n--A", "\r\n--AaB03", "\r\r\n--AaB03", "--AaB03", "\n--AaB03x",
        "\r--AaB03x",
    ])
    func nearlyABoundary(_ text: String) {
        let content = Array(repeating: Array(text.utf8), count: 20).flatMap { $0 }
        let form = FormSample.bytes("--AaB03x\n\(Self.name)\n\nx") + content + FormSample.bytes("\n--AaB03x--")
        let wanted: [FormEvent] = [Self.field("a"), .content([0x78] + content), .endOfPart, .end]
        #expect(FormSample.events(form) == wanted)
        #expect(FormSample.events(form, cutAt: Array(form.indices)) == wanted)
    }

    @Test func nestedFormsAreContent() {
        let inner = FormSample.bytes("--inner\nContent-Disposition: file; filename=b\n\nb\n--inner--")
        let form =
            FormSample.bytes("--AaB03x\n\(Self.name)\nContent-Type: multipart/mixed; boundary=inner\n\n") + inner
            + FormSample.bytes("\n--AaB03x--")
        #expect(
            FormSample.events(form) == [
                .part(name: "a", filename: nil, type: "multipart/mixed"), .content(inner), .endOfPart, .end,
            ])
    }

    static let broken: [(String, Comment)] = [
        ("--AaB03x \nh\n\nx\n--AaB03x--", "a blank behind the first boundary"),
        ("--AaB03xy\nh\n\nx\n--AaB03x--", "a line that begins with the boundary and goes on"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03x \n--AaB03x--", "a blank behind a boundary"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03xInner\n--AaB03x--", "a boundary that begins as the outer one does"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03x-", "one hyphen behind the last boundary"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03x--x", "bytes behind the last boundary"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03x-- \n", "a blank behind the last boundary"),
        ("--AaB03x\n\(name)\n\nx\n--AaB03x", "no last boundary"),
        ("--AaB03x\n\(name)\n\n--AaB03x--", "a boundary at once behind a head"),
        ("--AaB03x\n\nx\n--AaB03x--", "a part without a head"),
        ("--AaB03x\n\n\nx\n--AaB03x--", "a part without a head"),
        ("no boundary at all", "no boundary"),
    ]

    @Test(arguments: broken) func refusedForms(_ text: String, _ reason: Comment) {
        let form = FormSample.bytes(text)
        #expect(FormSample.events(form).last == .fault(400), reason)
        #expect(FormSample.events(form, cutAt: Array(form.indices)).last == .fault(400), reason)
        #expect(!FormSample.events(form).contains(.end), reason)
    }

    /// A broken boundary must not end a part, because a caller would store the part as complete.
    @Test func noEndOfPartAtABrokenBoundary() {
        for tail in [" \r\n", "x", "-", "-x", "--x", "\n", "\r", "\rx", ""] {
            let form = FormSample.bytes("--AaB03x\n\(Self.name)\n\nx\n--AaB03x") + Array(tail.utf8)
            #expect(!FormSample.events(form).contains(.endOfPart), "\(tail.debugDescription)")
            #expect(!FormSample.events(form, cutAt: Array(form.indices)).contains(.endOfPart))
        }
    }

    @Test func bareLineFeedsInHeads() {
        let form = Array("--AaB03x\r\n\(Self.name)\nX: y\r\n\r\nx\r\n--AaB03x--".utf8)
        #expect(FormSample.events(form) == [.fault(400)])
        #expect(FormSample.events(Array("--AaB03x\n\(Self.name)\n\nx\n--AaB03x--".utf8)) == [.fault(400)])
        #expect(FormSample.events(Self.head("\(Self.name)\rX: y")) == [.fault(400)])
    }
}
