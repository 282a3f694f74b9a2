import Testing
import TransferHTTP

@Suite struct MultipartPartTests {
    private static func events(_ head: String) -> FormEvent? {
        FormSample.events(FormSample.bytes("--AaB03x\n\(head)\n\nx\n--AaB03x--")).first
    }

    static let named: [(String, String, String?)] = [
        ("form-data; name=\"a\"", "a", nil), ("Form-Data; Name=a", "a", nil), ("form-data; name=\"\"", "", nil),
        ("form-data;name=a;filename=b", "a", "b"), (#"form-data; name="a \"b\" \\"; filename="""#, #"a "b" \"#, ""),
        ("form-data; name=\"ä\"; filename=\"ö.txt\"", "ä", "ö.txt"),
        ("form-data; name=a; filename=\"a%22b.txt\"", "a", "a%22b.txt"),
        ("form-data; name=a; filename*=UTF-8''%e2%82%ac%20rates", "a", "€ rates"),
        ("form-data; name=a; filename=b; filename*=utf-8'en'b", "a", "b"),
        ("form-data; name=a; filename=\"a;b, c=d\"", "a", "a;b, c=d"),
    ]

    @Test(arguments: named) func names(_ value: String, _ name: String, _ filename: String?) {
        let wanted = FormEvent.part(name: name, filename: filename.map { Array($0.utf8) }, type: nil)
        #expect(Self.events("Content-Disposition: \(value)") == wanted)
        #expect(Self.events("X-Other: 1\nX-Other: 2\ncontent-disposition:\t\(value) ") == wanted)
    }

    static let refused: [(String, Comment)] = [
        ("Content-Type: text/plain", "no disposition"), ("Content-Disposition: form-data", "no name"),
        ("Content-Disposition: form-data; filename=a", "no name"),
        ("Content-Disposition: attachment; name=a", "no form-data"),
        ("Content-Disposition: form-data; name=a\nContent-Disposition: form-data; name=b", "two dispositions"),
        ("Content-Disposition: form-data; name=a; name=b", "two names"),
        ("Content-Disposition: form-data; name=a; filename=b; FILENAME=c", "two file names"),
        ("Content-Disposition: form-data; name=a; filename=b; filename*=UTF-8''c", "two file names that differ"),
        ("Content-Disposition: form-data; name=a; filename*=ISO-8859-1''b", "another charset"),
        ("Content-Disposition: form-data; name=a; filename*=UTF-8''%ff", "no UTF-8"),
        ("Content-Disposition: form-data; name=a; filename*=UTF-8''%0d", "a control"),
        ("Content-Disposition: form-data; name=\"a", "a quote that does not end"),
        ("Content-Disposition: form-data; name=\"a\" b", "text behind the name"),
        ("Content-Disposition: form-data; name = a", "blanks around ="),
        (#"Content-Disposition: form-data; name=a; filename="C:\dir\file""#, "backslashes that escape nothing"),
        (#"Content-Disposition: form-data; name=a; filename="b\""#, "a backslash at the end"),
        ("Content-Disposition: form-data; name=\"a\u{1}\"", "a control"),
        ("Content-Disposition: form-data; name=\"\0\"", "NUL"),
        ("Content-Disposition : form-data; name=a", "a blank in front of the colon"),
        (" Content-Disposition: form-data; name=a", "a blank at the front"),
        ("Content-Disposition: form-data;\n name=a", "a folded line"), ("Content-Disposition", "no colon"),
        (": a", "no field name"),
        ("Content-Disposition: form-data; name=a\nContent-Transfer-Encoding: base64", "encoded"),
        ("Content-Disposition: form-data; name=a\nContent-Transfer-Encoding: quoted-printable", "encoded"),
        ("Content-Disposition: form-data; name=a\nContent-Transfer-Encoding:", "an encoding that is none"),
        ("Content-Disposition: form-data; name=a\nContent-Type: a/b\nContent-Type: a/c", "two types"),
        ("Content-Disposition: form-data; name=a\nTransfer-Modified: now", "a malformed time"),
        ("Content-Disposition: form-data; name=a\nTransfer-Modified: 1\nTransfer-Modified: 1", "two times"),
        (
            "Content-Disposition: form-data; name=a\nContent-Transfer-Encoding: 8bit\nContent-Transfer-Encoding: 8bit",
            "two"
        ),
    ]

    @Test(arguments: refused) func refusedHeads(_ head: String, _ reason: Comment) {
        #expect(Self.events(head) == .fault(400), reason)
    }

    @Test(arguments: ["7bit", "8BIT", "binary"]) func encodings(_ encoding: String) {
        let head = "Content-Disposition: form-data; name=a\nContent-Transfer-Encoding: \(encoding)"
        #expect(Self.events(head) == .part(name: "a", filename: nil, type: nil))
    }

    @Test(arguments: [
        ("image/JPEG", "image/jpeg"), ("text/plain; charset=utf-8", "text/plain"), ("", nil), ("nonsense", nil),
    ])
    func types(_ type: String, _ essence: String?) {
        let head = "Content-Disposition: form-data; name=a\nContent-Type: \(type)"
        #expect(Self.events(head) == .part(name: "a", filename: nil, type: essence))
    }

    /// Names of fields must be UTF-8; names of files are kept as bytes.
    @Test func otherBytes() {
        func form(_ name: [UInt8], _ filename: [UInt8]) -> [UInt8] {
            FormSample.bytes("--AaB03x\nContent-Disposition: form-data; name=\"") + name + Array("\"; filename=\"".utf8)
                + filename + FormSample.bytes("\"\n\nx\n--AaB03x--")
        }
        #expect(FormSample.events(form([0xE4], [0x61])).first == .fault(400))
        #expect(FormSample.events(form([0x61], [0xE4])).first == .part(name: "a", filename: [0xE4], type: nil))
    }
}
