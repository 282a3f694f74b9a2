package import TransferModel

/// Says that the path of a request is in the trash.
package enum TrashPlace: Equatable, Sendable {
    /// The trash itself: what is in it are its batches.
    case top
    /// In one of these.
    case batch(TrashBatch)

    /// - Returns: nothing where the field is missing.
    /// - Throws: `malformedFrame` for a text that names no batch.
    init?(_ fields: MessageFields) throws(ProtocolFault) {
        guard let value = fields[.trash] else { return nil }
        if value.isEmpty {
            self = .top
            return
        }
        guard let text = String(validating: value, as: UTF8.self), let batch = TrashBatch(text) else {
            throw .malformed("The field trash names no part of the trash.")
        }
        self = .batch(batch)
    }

    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .top: bytes.append(field: .trash, [])
        case .batch(let batch): bytes.append(field: .trash, batch.name.utf8)
        }
    }
}
