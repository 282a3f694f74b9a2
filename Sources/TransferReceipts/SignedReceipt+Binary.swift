import TransferKeys
import TransferProtocol

extension SignedReceipt {
    /// As it travels in a `result` frame; `docs/PROTOCOL.md` has the table.
    package var encoded: [UInt8] {
        let texts = receipt.path.string.utf8.count + receipt.sender.utf8.count
        // What is always there takes 201 bytes at most.
        return ByteWriter.bytes(capacity: 256 + texts + Bytes32.count * inclusion.count) { bytes in
            bytes.append(byte: Receipt.version)
            bytes.append(bigEndian: receipt.number, size: 8)
            bytes.append(bigEndian: receipt.uploadID.high, size: 8)
            bytes.append(bigEndian: receipt.uploadID.low, size: 8)
            bytes.append(byte: receipt.kind.rawValue)
            bytes.append(bigEndian: UInt64(receipt.result.rawValue), size: 2)
            bytes.append(bigEndian: receipt.size, size: 8)
            bytes.append(bigEndian: receipt.time.milliseconds, size: 8)
            receipt.server.raw.withUnsafeBytes { bytes.append($0) }
            bytes.append(signature)
            bytes.append(bigEndian: UInt64(index), size: 4)
            bytes.append(bigEndian: UInt64(treeSize), size: 4)
            bytes.append(byte: receipt.digest.algorithm.rawValue)
            bytes.append(receipt.digest.bytes)
            for text in [receipt.path.string, receipt.sender] {
                bytes.append(bigEndian: UInt64(text.utf8.count), size: 2)
                bytes.append(text)
            }
            bytes.append(byte: UInt8(inclusion.count))
            for hash in inclusion { hash.withUnsafeBytes { bytes.append($0) } }
        }
    }

    /// Reads what `encoded` writes and nothing else. Nothing is verified.
    package convenience init(decoding bytes: [UInt8]) throws(ReceiptFault) {
        let fields: ReceiptFields
        do throws(ProtocolFault) {
            fields = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(ProtocolFault) in
                var reader = BodyReader(bytes)
                return try ReceiptFields(&reader)
            }
        } catch {
            throw .malformed(error.message)
        }
        try self.init(fields)
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
        signature = try reader.array(ServerKey.signatureSize)
        index = try reader.number(4)
        treeSize = try reader.number(4)
        digest = try reader.digest()
        path = String(validating: try reader.sizedArray(), as: UTF8.self)
        sender = String(validating: try reader.sizedArray(), as: UTF8.self)
        let count = Int(try reader.number(1))
        inclusion.reserveCapacity(count)
        for _ in 0..<count { inclusion.append(Bytes32(try reader.bytes(Bytes32.count))) }
        try reader.finish()
    }
}

extension BodyReader {
    /// An integer of that many bytes. The reader's own `integer` is generic and a call into another module, which takes
    /// longer than all the rest.
    fileprivate mutating func number(_ size: Int) throws(ProtocolFault) -> UInt64 {
        try bytes(size).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
