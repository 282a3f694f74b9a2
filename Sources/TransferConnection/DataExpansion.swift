package import TransferCodec
import TransferModel
package import TransferProtocol

/// Expands the content of data frames. Each connection has one; server and client both use this type.
package struct DataExpansion: Sendable {
    private let frames = FrameExpansion(limit: Limits.dataBody)

    package init() {}

    /// Expands the next piece of a frame.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the piece.
    ///   - fault: converts `corruptCompression` or `frameTooLarge`, if the frame is invalid, to an error of the
    ///     caller's type.
    ///   - sink: receives the content, valid during the call only, and whether it is a hole, of which only the number
    ///     of bytes was sent.
    /// - Throws: the error that `fault` returns, or the error of `sink`. The caller must not pass the rest of the frame
    ///   after an error.
    package func expand<E: Error>(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer, fault: (ProtocolFault) -> E,
        into sink: (_ content: UnsafeRawBufferPointer, _ isHole: Bool) throws(E) -> Void
    ) throws(E) {
        guard piece.encoding != .hole else { return try expandHole(bytes, fault, sink) }
        guard let format = CompressionFormat(piece.encoding) else { return try sink(bytes, false) }
        let place = FrameExpansion.Place(isFirst: piece.isFirst, isLast: piece.isLast)
        try frames.expand(bytes, place, format, fault: { fault(ProtocolFault($0)) }) { (content) throws(E) in
            try sink(content, false)
        }
    }

    /// The parser returns the body of a hole as a whole.
    private func expandHole<E: Error>(
        _ body: UnsafeRawBufferPointer, _ fault: (ProtocolFault) -> E,
        _ sink: (UnsafeRawBufferPointer, Bool) throws(E) -> Void
    ) throws(E) {
        let hole: Hole
        do throws(ProtocolFault) { hole = try Hole(body) } catch { throw fault(error) }
        try sink(ZeroBytes.prefix(hole.count), true)
    }
}

extension CompressionFormat {
    fileprivate init?(_ encoding: BodyEncoding) {
        switch encoding {
        case .stored, .hole: return nil
        case .zlib: self = .zlib
        case .zstd: self = .zstd
        }
    }

    /// The encoding of a body with a frame in this format.
    package var encoding: BodyEncoding {
        switch self {
        case .zlib: .zlib
        case .zstd: .zstd
        }
    }
}

extension ProtocolFault {
    fileprivate init(_ error: CodecError) {
        switch error {
        case .corrupt:
            self.init(.corruptCompression, "A compressed frame is not one whole zlib stream or zstd frame.")
        case .tooLarge:
            self.init(.frameTooLarge, "A compressed frame holds more than \(Limits.dataBody) bytes.")
        }
    }
}
