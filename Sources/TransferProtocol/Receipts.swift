import TransferModel

/// The receipts of uploads that were acknowledged together, as far as the client doesn't know them from their results: the
/// server has signed them all at once, and whoever has the results can make each of them again.
package struct Receipts: Equatable, Sendable {
    /// Of the receipts' format. Only `receiptVersion` is known.
    package var version: UInt8

    /// Of the first receipt; the others count up from there.
    package var number: UInt64

    /// When they were made: milliseconds since 1970.
    package var time: UInt64

    /// How many they are, 1 to `Limits.unacknowledgedUploads`: those of the first results that have none yet.
    package var count: Int

    /// Over the root of their tree, `signatureSize` bytes.
    package var signature: [UInt8]

    /// Who sent the uploads, as the server saw it; up to `Limits.sender` bytes.
    package var sender: String

    /// The version of receipts that is written here.
    package static let receiptVersion: UInt8 = 1

    /// Bytes of a signature: Ed25519 (RFC 8032, section 5.1.6).
    package static let signatureSize = 64

    package init(
        version: UInt8 = receiptVersion, number: UInt64, time: UInt64, count: Int, signature: [UInt8], sender: String
    ) {
        self.version = version
        self.number = number
        self.time = time
        self.count = count
        self.signature = signature
        self.sender = sender
    }

    /// - Throws: `malformedFrame`.
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        version = try reader.integer(UInt8.self)
        number = try reader.integer(UInt64.self)
        time = try reader.integer(UInt64.self)
        count = Int(try reader.integer(UInt16.self))
        guard (1...Limits.unacknowledgedUploads).contains(count) else {
            throw .malformed("A frame has 1 to \(Limits.unacknowledgedUploads) receipts, not \(count).")
        }
        guard !number.addingReportingOverflow(UInt64(count - 1)).overflow else {
            throw .malformed("The numbers of receipts are too large.")
        }
        signature = try reader.array(Self.signatureSize)
        let length = Int(try reader.integer(UInt16.self))
        guard length <= Limits.sender, let text = String(validating: try reader.bytes(length), as: UTF8.self) else {
            throw .malformed("The sender must be text of up to \(Limits.sender) bytes.")
        }
        sender = text
        _ = try reader.fields(known: [])
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
