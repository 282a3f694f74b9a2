package import TransferModel

/// The head of one part of a form (RFC 7578, section 4).
package struct MultipartPart: Equatable, Sendable {
    /// Name of the form's field: UTF-8 without control characters, may be empty. It may contain `%22`, `%0D` and `%0A`,
    /// by which browsers encode quotes and line ends (WHATWG HTML, multipart/form-data encoding algorithm).
    package let name: String

    /// File name without quotes and escapes: any bytes but control characters. Nil for a field that is not a file.
    package let filename: [UInt8]?

    /// Type of the content; nil if it is missing or malformed.
    package let contentType: MediaType?

    /// The time of modification of the file, in the field `Transfer-Modified`; nil if the part states none.
    package let modified: Timestamp?

    package static func == (a: Self, b: Self) -> Bool {
        a.name.hasSameBytes(as: b.name) && a.filename == b.filename && a.contentType == b.contentType
            && a.modified == b.modified
    }

    /// - Parameter head: lines that end with CR LF; empty for an empty head.
    /// - Throws: 400 if the head is malformed, lacks a name, has a known field twice or two file names, or declares an
    ///   encoding or a malformed time.
    init(head: [UInt8]) throws(HTTPFault) {
        var fields: [String: ArraySlice<UInt8>] = [:]
        var rest = head[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0D }
            guard rest.dropFirst(line.count).starts(with: [0x0D, 0x0A]) else {
                throw HTTPFault(400, "A line of a part's head does not end in CR LF.")
            }
            rest = rest.dropFirst(line.count + 2)
            let (name, value) = try Self.field(line)
            guard fields.updateValue(value, forKey: name) == nil || !Self.known.contains(name) else {
                throw HTTPFault(400, "A part has \(name) twice.")
            }
        }
        try Self.checkEncoding(fields["content-transfer-encoding"])
        (name, filename) = try Self.names(fields["content-disposition"])
        contentType = fields["content-type"].flatMap { MediaType($0) }
        modified = try fields[ModificationTime.field].map { (text) throws(HTTPFault) in
            try ModificationTime.read(text, of: "Transfer-Modified")
        }
    }

    private static let known = [
        "content-disposition", "content-transfer-encoding", "content-type", ModificationTime.field,
    ]

    private static func field(_ line: ArraySlice<UInt8>) throws(HTTPFault) -> (String, ArraySlice<UInt8>) {
        var reader = FieldReader(line)
        guard let name = reader.token(), reader.take(":") else {
            throw HTTPFault(400, "A line of a part's head is not a field.")
        }
        let value = FieldSyntax.trimmed(reader.rest)
        guard value.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
            throw HTTPFault(400, "A field of a part has a control character.")
        }
        return (FieldSyntax.lowercased(name), value)
    }

    /// Refuses content with an encoding, because it would be stored in that encoding. RFC 7578 (section 4.7) forbids
    /// it.
    private static func checkEncoding(_ value: ArraySlice<UInt8>?) throws(HTTPFault) {
        guard let value else { return }
        guard ["7bit", "8bit", "binary"].contains(FieldSyntax.lowercased(value)) else {
            throw HTTPFault(400, "A part has a Content-Transfer-Encoding other than 7bit, 8bit and binary.")
        }
    }

    private static func names(_ value: ArraySlice<UInt8>?) throws(HTTPFault) -> (String, [UInt8]?) {
        guard let value, let disposition = ContentDisposition(value), disposition.type == "form-data" else {
            throw HTTPFault(400, "A part has no unambiguous Content-Disposition of form-data.")
        }
        guard let bytes = disposition.name, let name = String(validating: bytes, as: UTF8.self) else {
            throw HTTPFault(400, "A part has no name in UTF-8.")
        }
        // RFC 7578 (section 4.2) forbids `filename*`; some clients send it alone, and some send both.
        if let plain = disposition.plainFilename, let extended = disposition.extendedFilename, plain != extended {
            throw HTTPFault(400, "A part has two file names.")
        }
        return (name, disposition.filename)
    }
}
