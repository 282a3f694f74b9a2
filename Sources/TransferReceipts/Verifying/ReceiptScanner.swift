import TransferKeys
import TransferModel

/// Parses the line of a receipt, which must have exactly the expected form.
struct ReceiptScanner {
    private let line: [UInt8]
    private var offset = 0

    init(_ line: [UInt8]) {
        self.line = line
    }

    /// Reads the whole line of a server's receipt.
    mutating func fields() throws(ReceiptFault) -> ReceiptFields {
        var fields = ReceiptFields()
        try expect("{\"receipt\":{\"version\":")
        fields.version = try integer()
        guard fields.version == UInt64(Receipt.version) else { throw .unknownVersion }
        try expect(",\"number\":")
        fields.number = try integer()
        fields.uploadID = UploadID(hexadecimal: try string(after: ",\"uploadID\":"))
        fields.path = try string(after: ",\"path\":")
        fields.kind = ContentKind(name: try string(after: ",\"kind\":"))
        try expect(",\"size\":")
        fields.size = try integer()
        fields.digest = Digest(name: try string(after: ",\"digest\":"))
        let result = try string(after: ",\"result\":")
        fields.result = Receipt.results.first { $0.name == result }
        fields.sender = try string(after: ",\"sender\":")
        fields.time = ReceiptTime(try string(after: ",\"time\":"))
        fields.server = try key(after: ",\"server\":")
        fields.proof = try proof()
        return fields
    }

    /// Reads the whole line of a delivery receipt.
    mutating func deliveryFields() throws(ReceiptFault) -> DeliveryFields {
        var fields = DeliveryFields()
        try expect("{\"receipt\":{\"version\":")
        fields.version = try integer()
        guard fields.version == UInt64(DeliveryReceipt.version) else { throw .unknownVersion }
        fields.delivery = UploadID(hexadecimal: try string(after: ",\"delivery\":"))
        fields.to = try string(after: ",\"to\":")
        fields.from = try string(after: ",\"from\":")
        fields.name = try string(after: ",\"name\":")
        fields.kind = ContentKind(name: try string(after: ",\"kind\":"))
        try expect(",\"size\":")
        fields.size = try integer()
        fields.digest = Digest(name: try string(after: ",\"digest\":"))
        fields.time = ReceiptTime(try string(after: ",\"time\":"))
        fields.recipient = try key(after: ",\"recipient\":")
        fields.server = try key(after: ",\"server\":")
        fields.proof = try proof()
        return fields
    }

    /// - Returns: nil unless there are 32 bytes in hexadecimal digits.
    private mutating func key(after text: String) throws(ReceiptFault) -> Bytes32? {
        [UInt8](hexadecimal: try string(after: text)).flatMap { Bytes32($0) }
    }

    private mutating func proof() throws(ReceiptFault) -> ReceiptProofFields {
        var fields = ReceiptProofFields()
        try expect("},\"index\":")
        fields.index = try integer()
        try expect(",\"treeSize\":")
        fields.treeSize = try integer()
        try expect(",\"inclusion\":[")
        fields.inclusion = try hashes()
        fields.signature = [UInt8](hexadecimal: try string(after: "],\"signature\":")) ?? []
        try expect("}")
        guard offset == line.count else { throw unexpected }
        return fields
    }

    /// - Returns: nil if one of the texts is not a hash.
    private mutating func hashes() throws(ReceiptFault) -> [Bytes32]? {
        var hashes: [Bytes32?] = []
        while peek != UInt8(ascii: "]") {
            if !hashes.isEmpty { try expect(",") }
            hashes.append([UInt8](hexadecimal: try string()).flatMap { Bytes32($0) })
        }
        let known = hashes.compactMap(\.self)
        return known.count == hashes.count ? known : nil
    }

    private var peek: UInt8? { offset < line.count ? line[offset] : nil }

    private var unexpected: ReceiptFault { .malformed("an unexpected character at byte \(offset + 1)") }

    private mutating func expect(_ text: String) throws(ReceiptFault) {
        guard line[offset...].starts(with: text.utf8) else { throw unexpected }
        offset += text.utf8.count
    }

    private mutating func integer() throws(ReceiptFault) -> UInt64 {
        let digits = line[offset...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let number = UInt64(String(decoding: digits, as: UTF8.self)) else { throw unexpected }
        offset += digits.count
        return number
    }

    private mutating func string(after text: String) throws(ReceiptFault) -> String {
        try expect(text)
        return try string()
    }

    private mutating func string() throws(ReceiptFault) -> String {
        try expect("\"")
        var content: [UInt8] = []
        while let byte = peek, byte != UInt8(ascii: "\"") {
            offset += 1
            if byte == UInt8(ascii: "\\") {
                content.append(contentsOf: String(try escaped()).utf8)
            } else {
                content.append(byte)
            }
        }
        try expect("\"")
        guard let text = String(validating: content, as: UTF8.self) else { throw .malformed("text that is not UTF-8") }
        return text
    }

    private mutating func escaped() throws(ReceiptFault) -> Character {
        guard let byte = peek else { throw unexpected }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return Character(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "u"):
            let digits = line[offset...].prefix(4)
            // Surrogates are not scalars; no escaped character needs a pair.
            guard digits.count == 4, let value = Hexadecimal.number(digits),
                let scalar = UnicodeScalar(UInt32(truncatingIfNeeded: value))
            else { throw unexpected }
            offset += 4
            return Character(scalar)
        default: throw unexpected
        }
    }
}

extension Digest {
    /// Reads the text of `description`; nil for any other text.
    fileprivate init?(name text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2,
            let algorithm = DigestAlgorithm.allCases.first(where: { $0.name.utf8.elementsEqual(parts[0]) }),
            let bytes = [UInt8](hexadecimal: Substring(parts[1])), bytes.count == algorithm.function.size
        else { return nil }
        self.init(algorithm, bytes)
    }
}
