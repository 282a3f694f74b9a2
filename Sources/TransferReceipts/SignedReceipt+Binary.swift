import TransferProtocol

extension SignedReceipt {
    /// As it travels in a `result` frame; `docs/PROTOCOL.md` has the table.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + receipt.path.string.utf8.count + Bytes32.count * inclusion.count)
        bytes.append(Receipt.version)
        bytes.append(bigEndian: receipt.number)
        receipt.uploadID.encode(into: &bytes)
        bytes.append(receipt.kind.rawValue)
        bytes.append(bigEndian: receipt.result.rawValue)
        bytes.append(bigEndian: receipt.size)
        bytes.append(bigEndian: receipt.time.milliseconds)
        receipt.server.raw.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: signature)
        bytes.append(bigEndian: index)
        bytes.append(bigEndian: treeSize)
        bytes.append(digest: receipt.digest)
        bytes.append(sized: receipt.path.string)
        bytes.append(sized: receipt.sender)
        bytes.append(UInt8(inclusion.count))
        for hash in inclusion { hash.withUnsafeBytes { bytes.append(contentsOf: $0) } }
        return bytes
    }

    /// Reads what `encoded` writes and nothing else. Nothing is verified.
    package init(decoding bytes: [UInt8]) throws(ReceiptFault) {
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
        version = UInt64(try reader.integer(UInt8.self))
        number = try reader.integer(UInt64.self)
        uploadID = try reader.uploadID()
        kind = ContentKind(rawValue: try reader.integer(UInt8.self))
        result = ResultCode(rawValue: try reader.integer(UInt16.self))
        size = try reader.integer(UInt64.self)
        time = ReceiptTime(milliseconds: try reader.integer(UInt64.self))
        server = try reader.array(Bytes32.count)
        signature = try reader.array(ServerKey.signatureSize)
        index = UInt64(try reader.integer(UInt32.self))
        treeSize = UInt64(try reader.integer(UInt32.self))
        digest = try reader.digest()
        path = String(validating: try reader.sizedArray(), as: UTF8.self)
        sender = String(validating: try reader.sizedArray(), as: UTF8.self)
        for _ in 0..<(try reader.integer(UInt8.self)) { inclusion.append(Bytes32(try reader.array(Bytes32.count))) }
        try reader.finish()
    }
}

extension [UInt8] {
    /// Two bytes of length, then the text.
    fileprivate mutating func append(sized text: String) {
        append(bigEndian: UInt16(text.utf8.count))
        append(contentsOf: text.utf8)
    }
}
