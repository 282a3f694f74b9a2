package import TransferModel

extension Begin {
    /// The position of a part in its upload. A part consists of whole blocks, so that the blocks have the same digests
    /// as in the upload, or it is a piece of one block.
    package struct Part: Equatable, Sendable {
        /// ID of the upload; the part itself has another ID.
        package var upload: UploadID

        /// Offset of the part in bytes: a multiple of the block size, or of `Limits.pieceSize` for a piece of a block.
        package var offset: UInt64

        /// Size of the upload in bytes; nil while the end of the source is unknown.
        package var total: UInt64?

        package init(of upload: UploadID, offset: UInt64, total: UInt64?) {
            self.upload = upload
            self.offset = offset
            self.total = total
        }

        /// Range of a part of `size` bytes in its upload; nil if it overflows or exceeds `total`.
        package func range(size: UInt64) -> Range<UInt64>? {
            let (end, overflow) = offset.addingReportingOverflow(size)
            return overflow || end > total ?? end ? nil : offset..<end
        }
    }
}

extension Begin.Scope {
    /// - Parameter size: the size that `begin` declares.
    init(_ fields: MessageFields, size: UInt64?) throws(ProtocolFault) {
        switch (fields[.part], fields[.multipart]) {
        case (nil, nil): self = .whole
        case (let value?, nil): self = .part(try Begin.Part(value, size: size))
        case (nil, let value?):
            guard value.isEmpty else { throw .malformed("The field multipart must be empty.") }
            self = .multipart
        case (_?, _?): throw .malformed("An upload is a part or a multipart upload, not both.")
        }
    }

    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .whole: break
        case .part(let part): bytes.append(field: .part, part.encoded)
        case .multipart: bytes.append(field: .multipart, [])
        }
    }
}

extension Begin.Part {
    fileprivate init(_ value: [UInt8], size: UInt64?) throws(ProtocolFault) {
        self = try value.span.bytes.withUnsafeBytes { (bytes) throws(ProtocolFault) in
            var reader = BodyReader(bytes)
            var part = Self(
                of: try reader.uploadID(), offset: try reader.integer(UInt64.self),
                total: try reader.integer(UInt64.self))
            if part.total == Self.unknownTotal { part.total = nil }
            try reader.finish()
            return part
        }
        guard upload != .none, let size, let range = range(size: size), isWhole(range) || isPiece(range) else {
            throw .malformed("A part must be whole blocks of its upload, or a piece of one.")
        }
    }

    private func isWhole(_ range: Range<UInt64>) -> Bool {
        !range.isEmpty && isAligned(range, to: UInt64(Limits.blockSize))
    }

    private func isPiece(_ range: Range<UInt64>) -> Bool {
        let block = UInt64(Limits.blockSize)
        return !range.isEmpty && total != nil && isAligned(range, to: UInt64(Limits.pieceSize))
            && range.lowerBound / block == (range.upperBound - 1) / block
    }

    private func isAligned(_ range: Range<UInt64>, to unit: UInt64) -> Bool {
        range.lowerBound.isMultiple(of: unit) && (range.upperBound == total || range.upperBound.isMultiple(of: unit))
    }

    /// Stands for an unknown total. No upload is that long.
    private static let unknownTotal = UInt64.max

    fileprivate var encoded: [UInt8] {
        var bytes: [UInt8] = []
        upload.encode(into: &bytes)
        bytes.append(bigEndian: offset)
        bytes.append(bigEndian: total ?? Self.unknownTotal)
        return bytes
    }
}
