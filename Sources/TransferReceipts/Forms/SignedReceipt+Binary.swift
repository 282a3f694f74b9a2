import TransferKeys
import TransferModel
import TransferProtocol

extension SignedReceipt {
    /// The binary form in a `result` frame; `docs/reference/protocol.md` has the table.
    package var encoded: [UInt8] {
        Self.encode(
            receipt, ReceiptProof(index: index, treeSize: treeSize, inclusion: inclusion, signature: signature))
    }

    static func encode(_ receipt: Receipt, _ proof: ReceiptProof) -> [UInt8] {
        let texts = receipt.path.string.utf8.count + receipt.sender.utf8.count
        // The fixed part takes at most 201 bytes. The capacity is no larger than needed, because a server keeps these
        // for a while.
        return ByteWriter.bytes(capacity: 201 + texts + Bytes32.count * proof.inclusion.count) { bytes in
            bytes.append(byte: Receipt.version)
            bytes.append(bigEndian: receipt.number, size: 8)
            bytes.append(bigEndian: receipt.uploadID.high, size: 8)
            bytes.append(bigEndian: receipt.uploadID.low, size: 8)
            bytes.append(byte: receipt.kind.rawValue)
            bytes.append(bigEndian: UInt64(receipt.result.rawValue), size: 2)
            bytes.append(bigEndian: receipt.size, size: 8)
            bytes.append(bigEndian: receipt.time.milliseconds, size: 8)
            receipt.server.raw.withUnsafeBytes { bytes.append($0) }
            bytes.append(proof.signature)
            bytes.append(bigEndian: UInt64(proof.index), size: 4)
            bytes.append(bigEndian: UInt64(proof.treeSize), size: 4)
            bytes.append(byte: receipt.digest.algorithm.rawValue)
            bytes.append(receipt.digest.bytes)
            bytes.append(sized: receipt.path.string)
            bytes.append(sized: receipt.sender)
            bytes.append(byte: UInt8(proof.inclusion.count))
            proof.inclusion.withUnsafeBytes { bytes.append($0) }
        }
    }

    /// Reads only what `encoded` writes. Verifies nothing.
    package convenience init(decoding bytes: [UInt8]) throws(ReceiptFault) {
        var ending: ReceiptEnding?
        try self.init(decoding: bytes, &ending)
    }

    /// - Parameter ending: ending of the previous receipt's text.
    convenience init(decoding bytes: [UInt8], _ ending: inout ReceiptEnding?) throws(ReceiptFault) {
        let fields: ReceiptFields
        do throws(ProtocolFault) {
            fields = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(ProtocolFault) in
                var reader = BodyReader(bytes)
                return try ReceiptFields(&reader)
            }
        } catch {
            throw .malformed(error.message)
        }
        try self.init(fields, &ending)
    }
}

extension ReceiptFields {
    fileprivate init(_ reader: inout BodyReader) throws(ProtocolFault) {
        version = try reader.number(1)
        number = try reader.number(8)
        uploadID = try reader.uploadID()
        kind = ContentKind(rawValue: UInt8(try reader.number(1)))
        result = ResultCode(rawValue: UInt16(try reader.number(2)))
        size = try reader.number(8)
        time = ReceiptTime(milliseconds: try reader.number(8))
        server = Bytes32(try reader.bytes(Bytes32.count))
        proof.signature = try reader.array(ServerKey.signatureSize)
        proof.index = try reader.number(4)
        proof.treeSize = try reader.number(4)
        digest = try reader.digest()
        path = try reader.text()
        sender = try reader.text()
        proof.inclusion = try reader.hashes(Int(try reader.number(1)))
        try reader.finish()
    }
}

extension BodyReader {
    /// Reads an integer of the given number of bytes. The reader's own `integer` is generic and a call into another
    /// module, which takes longer than everything else here.
    fileprivate mutating func number(_ size: Int) throws(ProtocolFault) -> UInt64 {
        try bytes(size).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// - Returns: nil for text that is not UTF-8.
    fileprivate mutating func text() throws(ProtocolFault) -> String? {
        String(validating: try bytes(Int(try number(2))), as: UTF8.self)
    }

    fileprivate mutating func hashes(_ count: Int) throws(ProtocolFault) -> [Bytes32] {
        let bytes = try bytes(count * Bytes32.count)
        return [Bytes32](unsafeUninitializedCapacity: count) { hashes, initialized in
            UnsafeMutableRawBufferPointer(hashes).copyMemory(from: bytes)
            initialized = count
        }
    }
}

extension ByteWriter {
    /// Appends two bytes of length, then the text.
    fileprivate mutating func append(sized text: String) {
        append(bigEndian: UInt64(text.utf8.count), size: 2)
        append(text)
    }
}

/// Decodes several receipts in order. Receipts of one batch have much of their text in common, which is written only
/// once.
///
/// It belongs to one task at a time.
package final class ReceiptDecoder {
    private var ending: ReceiptEnding?

    package init() {}

    /// Reads only what `SignedReceipt.encoded` writes. Verifies nothing.
    package func decode(_ bytes: [UInt8]) throws(ReceiptFault) -> SignedReceipt {
        try SignedReceipt(decoding: bytes, &ending)
    }
}
