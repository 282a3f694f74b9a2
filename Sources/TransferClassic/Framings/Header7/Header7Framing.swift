package import TransferModel

extension ClassicFraming {
    /// Version 1 of the header of seven bytes.
    package static let header7 = ClassicFraming(
        "header7", window: Header7Header.size + Int(UInt16.max), isCompressible: true, messagesIn: Header7Framing.self)
}

/// Messages behind version 1 of the header of seven bytes. A message is parsed only when all of it has arrived: 65,542
/// bytes at most.
package struct Header7Framing: MessageFraming {
    package let isBetweenMessages = true

    package init() {}

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (found: FoundMessage, consumed: Int) {
        guard let header = try Header7Header(bytes) else { return (.needsMore, 0) }
        let end = Header7Header.size + Int(header.length)
        guard bytes.byteCount >= end else { return (.needsMore, 0) }
        let body = bytes.extracting(Header7Header.size..<end)
        let json =
            try header.isCompressed
            ? WholeStream.inflate(body, limit: header.function.longestJSON) : body.array(0..<body.byteCount)
        return (.message(header.function, json), end)
    }

    package static func encode(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]? {
        encode(function, Array(object.text.utf8), isCompressed: false)
    }

    /// Encodes the message with the body as one zlib stream.
    package static func encodeCompressed(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]? {
        guard let body = WholeStream.deflate(Array(object.text.utf8), limit: Int(UInt16.max)) else { return nil }
        return encode(function, body, isCompressed: true)
    }

    private static func encode(_ function: MessageFunction, _ body: [UInt8], isCompressed: Bool) -> [UInt8]? {
        guard let length = UInt16(exactly: body.count) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Header7Header.size + body.count)
        Header7Header(function, isCompressed: isCompressed, length: length).encode(into: &bytes)
        return bytes + body
    }
}
