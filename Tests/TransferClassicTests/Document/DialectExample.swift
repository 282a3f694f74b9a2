import Testing
import TransferClassic
import TransferModel
import TransferTestSupport

/// An example on the page of a framing: its side, its framing, and the steps that it stands for.
struct DialectExample {
    let isOfClient: Bool
    let framing: ClassicFraming
    /// The steps in the document.
    let said: [String]
    let bytes: [UInt8]

    /// - Parameter example: its caption begins with the side that sends it; the first code span has the framing with
    ///   its options, and the others have the steps.
    init(_ example: MarkdownDocument.Example) throws {
        let spans = example.caption.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        isOfClient = example.caption.hasPrefix("From the client, ")
        try #require(isOfClient || example.caption.hasPrefix("From the server, "))
        let words = try #require(spans.first).split(separator: " ").map(String.init)
        let options = words.dropFirst().map { option in
            let parts = option.split(separator: "=").map(String.init)
            return (name: parts[0], value: parts[1])
        }
        framing = try ClassicFraming(name: words[0], options: options)
        // The caption may name a client between the framing and the colon.
        said = spans.dropFirst().filter { $0 != "bob" }
        bytes = example.bytes
    }

    /// Returns the steps of the parsers.
    func read() throws -> [String] {
        guard !isOfClient else { return Listener.heard(bytes, framing).map(Self.text) }
        return try framing.isChat ? forwarded() : answers()
    }

    private func answers() throws -> [String] {
        var client = try #require(framing.client())
        var (start, found): (Int, [String]) = (0, [])
        while true {
            let (answer, consumed) = try client.next(bytes.span.bytes.extracting(start...))
            start += consumed
            switch answer {
            case .needsMore:
                #expect(start == bytes.count)
                return found.count > 1 ? found.filter { $0 != "nothing" } : found
            case .nothing: found.append("nothing")
            case .reply(let bytes): found.append("reply \(String(hexadecimal: bytes))")
            case .close: found.append("close")
            case .stored(let kind): found.append("stored" + (kind.map { " \($0.name)" } ?? ""))
            case .failed: found.append("failed")
            case .remark(let text): found.append(text)
            case .result(let id, let result): found.append(Self.text(id, result))
            }
        }
    }

    /// This program only writes the server's heads, so the test parses them itself.
    private func forwarded() throws -> [String] {
        let end = try #require(bytes.indices.first { bytes[$0...].starts(with: [13, 10]) })
        let head = try JSONReader.read(Array(bytes[..<end]))
        let body = Array(bytes[(end + 2)...])
        guard case .string(let type)? = head["type"], case .string(let source)? = head["sourceClient"] else {
            return []
        }
        let kind: ContentKind = type == "img" ? .picture : .text
        #expect(JSONLineMessage.forwarded(kind, from: source, size: UInt64(body.count)) == Array(bytes[..<(end + 2)]))
        return ["\(type) from \(source) \(body.count) bytes", Self.text(.content(body))]
    }
}

extension DialectExample {
    private static func text(_ heard: Heard) -> String {
        switch heard {
        case .present(let name): "present \(name)"
        case .begin(let upload): text(upload)
        case .content(let bytes): "content " + (readable(bytes) ?? String(hexadecimal: bytes))
        case .end(let end):
            "end \(end.size ?? 0) bytes" + (end.digest.map { " sha256 \($0.hexadecimal.prefix(8))" } ?? "")
        case .abort: "abort"
        case .reply(let bytes): "reply \(String(hexadecimal: bytes))"
        case .close: "close"
        case .fault(let fault): "fault \(fault.code)"
        }
    }

    private static func text(_ upload: ClassicUpload) -> String {
        var text = "begin \(upload.number)"
        if let kind = upload.kind { text += " \(kind.name)" }
        if let size = upload.size { text += " \(size) bytes" }
        if let name = upload.name { text += " name \(String(decoding: name, as: UTF8.self))" }
        if let sender = upload.sender { text += " from \(sender)" }
        if let recipient = upload.recipient { text += " to \(recipient)" }
        return text
    }

    private static func text(_ id: UInt64, _ result: ClassicResult) -> String {
        var text = "result \(id) \(result.code)"
        if let name = result.name { text += " name \(name)" }
        if let path = result.path { text += " path \(path)" }
        if let message = result.message { text += " message \(message)" }
        return text
    }

    private static func readable(_ bytes: [UInt8]) -> String? {
        guard !bytes.contains(where: { $0 < 0x20 }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
