import TransferModel

/// The frame `receipts`, from which the client makes the receipts of earlier results. It stands for 1 to
/// `Limits.unacknowledgedUploads` receipts, those of the oldest results without a receipt.
extension SignedBatch {
    /// - Throws: `malformedFrame`.
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        let version = try reader.integer(UInt8.self)
        let (number, time) = (try reader.integer(UInt64.self), try reader.integer(UInt64.self))
        let count = Int(try reader.integer(UInt16.self))
        guard (1...Limits.unacknowledgedUploads).contains(count) else {
            throw .malformed("A frame must have 1 to \(Limits.unacknowledgedUploads) receipts, not \(count).")
        }
        guard !number.addingReportingOverflow(UInt64(count - 1)).overflow else {
            throw .malformed("The numbers of receipts are too large.")
        }
        let signature = try reader.array(Self.signatureSize)
        let length = Int(try reader.integer(UInt16.self))
        guard length <= Limits.sender, let sender = String(validating: try reader.bytes(length), as: UTF8.self) else {
            throw .malformed("The sender must be text of up to \(Limits.sender) bytes.")
        }
        _ = try reader.fields(known: [])
        self.init(version: version, number: number, time: time, count: count, signature: signature, sender: sender)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(version)
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: time)
        bytes.append(bigEndian: UInt16(count))
        bytes += signature
        bytes.append(bigEndian: UInt16(sender.utf8.count))
        bytes += sender.utf8
    }
}
