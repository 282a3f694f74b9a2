import TransferKeys
import TransferModel

extension SignedReceipt {
    /// One JSON object on one line, without an end of line. The receipt's text stands in it as it was signed.
    public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

    /// As `json`, in UTF-8.
    package var jsonBytes: [UInt8] {
        // Of the proof, what is always there takes 227 bytes at most.
        ByteWriter.bytes(capacity: text.count + 256 + 67 * Self.longestInclusion) { write(to: &$0) }
    }

    func write(to line: inout ByteWriter) {
        line.append("{\"receipt\":")
        line.append(text)
        line.append(",\"index\":")
        line.append(decimal: UInt64(index))
        line.append(",\"treeSize\":")
        line.append(decimal: UInt64(treeSize))
        line.append(",\"inclusion\":[")
        var isFirst = true
        forEachOfInclusion { hash in
            line.append(isFirst ? "\"" : ",\"")
            hash.withUnsafeBytes { line.append(hexadecimal: $0) }
            line.append("\"")
            isFirst = false
        }
        line.append("],\"signature\":\"")
        line.append(hexadecimal: signature)
        line.append("\"}")
    }

    /// Bytes of the longest line: a path and a sender of nothing but control characters take six times their bytes.
    package static let longestLine = 6 * (Limits.path + Limits.sender) + 4096

    /// Reads what `json` writes and nothing else: members in another order, spaces and other spellings are refused, so
    /// that every reader sees what was signed. Nothing is verified.
    package convenience init(json line: [UInt8]) throws(ReceiptFault) {
        guard line.count <= Self.longestLine else { throw .malformed("a line of \(line.count) bytes") }
        var scanner = ReceiptScanner(line)
        let fields = try scanner.fields()
        var ending: ReceiptEnding?
        try self.init(fields, &ending)
        guard jsonBytes == line else { throw .malformed("not in the canonical form") }
    }
}
