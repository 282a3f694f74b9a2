import TransferKeys
import TransferModel

extension SignedReceipt {
    /// One JSON object on one line, without a line end. It contains the receipt's text as it was signed.
    public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

    /// The text of `json` in UTF-8.
    package var jsonBytes: [UInt8] {
        let capacity = text.count + ByteWriter.receiptEnvelope(height: Self.longestInclusion)
        return ByteWriter.bytes(capacity: capacity) { write(to: &$0) }
    }

    func write(to line: inout ByteWriter) {
        line.append(
            receipt: text, index: index, treeSize: treeSize, signature: signature,
            forEachOfInclusion: forEachOfInclusion)
    }

    /// Most bytes of a line: control characters in path and sender take six times their bytes.
    package static let longestLine = 6 * (Limits.path + Limits.sender) + 4096

    /// Reads only what `json` writes: members in another order, spaces and other spellings are refused, so that every
    /// reader sees what was signed. Verifies nothing.
    package convenience init(json line: [UInt8]) throws(ReceiptFault) {
        guard line.count <= Self.longestLine else { throw .malformed("a line of \(line.count) bytes") }
        var scanner = ReceiptScanner(line)
        let fields = try scanner.fields()
        var ending: ReceiptEnding?
        try self.init(fields, &ending)
        guard jsonBytes == line else { throw .malformed("not in the canonical form") }
    }
}
