package import TransferModel

/// Reports that the client has stored or declined deliveries. The report is applied to all of them or to none.
package struct SettleRequest: Equatable, Sendable {
    package enum Verdict: UInt8, Sendable {
        /// The client has stored the deliveries durably.
        case delivered = 1
        /// The client doesn't want the deliveries.
        case declined = 2
    }

    package var id: UInt32
    package var verdict: Verdict

    /// Time by the client's clock in milliseconds since 1970. It is a part of the signed text.
    package var time: Int64

    /// IDs in the order in which they are signed; 1 to `mostDeliveries`.
    package var deliveries: [UploadID]

    /// The client's signature over the receipts of all deliveries; nil from a client without a key.
    package var signature: [UInt8]?

    /// Most deliveries in one frame: 4 KiB of IDs.
    package static let mostDeliveries = Limits.lookup

    /// Bytes of a signature: Ed25519 (RFC 8032, section 5.1.6).
    package static let signatureSize = 64

    package init(id: UInt32, _ verdict: Verdict, time: Int64, _ deliveries: [UploadID], signature: [UInt8]? = nil) {
        (self.id, self.verdict, self.time) = (id, verdict, time)
        (self.deliveries, self.signature) = (deliveries, signature)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let number = try reader.integer(UInt8.self)
        guard let verdict = Verdict(rawValue: number) else { throw .malformed("There is no verdict \(number).") }
        self.verdict = verdict
        time = try reader.integer(Int64.self)
        deliveries = try reader.uploadIDs()
        guard (1...Self.mostDeliveries).contains(deliveries.count), Set(deliveries).count == deliveries.count else {
            throw .malformed("A settle frame has \(deliveries.count) deliveries, or one of them twice.")
        }
        signature = try reader.fields(known: [.signature])[.signature]
        guard signature?.count ?? Self.signatureSize == Self.signatureSize else {
            throw .malformed("A signature must have \(Self.signatureSize) bytes.")
        }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(verdict.rawValue)
        bytes.append(bigEndian: time)
        bytes.append(ids: deliveries)
        if let signature { bytes.append(field: .signature, signature) }
    }
}
