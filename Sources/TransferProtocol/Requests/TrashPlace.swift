package import TransferModel

/// The place in the trash to which a request's path is relative.
package enum TrashPlace: Equatable, Sendable {
    /// The trash itself, whose entries are its batches.
    case top
    /// A batch: files that were removed together.
    case batch(TrashBatch)

    /// - Returns: nil if the field is absent.
    /// - Throws: `malformedFrame` for a text that is not the name of a batch.
    init?(_ fields: MessageFields) throws(ProtocolFault) {
        guard let value = fields[.trash] else { return nil }
        if value.isEmpty {
            self = .top
            return
        }
        guard let text = String(validating: value, as: UTF8.self), let batch = TrashBatch(text) else {
            throw .malformed("The field trash does not name a trash batch.")
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
