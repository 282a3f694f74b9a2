import TransferCodec
import TransferModel
import TransferProtocol
import TransferStore

/// Inflates the pieces of compressed frames as they arrive, a bounded buffer at a time. One per lane, made when the
/// first compressed frame comes.
final class Inflation {
    private lazy var inflater = Inflater()
    private lazy var output = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.outputSize, alignment: 64)
    private var hasOutput = false

    /// Bytes inflated at once.
    private static let outputSize = 128 << 10

    deinit {
        if hasOutput { output.deallocate() }
    }

    /// - Parameter sink: gets the content, valid during the call only.
    /// - Throws: `corruptCompression`, `frameTooLarge`, or what the sink throws.
    func inflate(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer,
        into sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        hasOutput = true
        if piece.isFirst { inflater.begin(limit: Limits.dataBody) }
        var consumed = 0
        while true {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[consumed...])
            var taken = 0
            let produced = try codec { () throws(CodecError) in
                try inflater.inflate(rest, consumed: &taken, into: output)
            }
            consumed += taken
            try sink(UnsafeRawBufferPointer(rebasing: output[..<produced]))
            if consumed == bytes.count, produced < output.count { break }
        }
        if piece.isLast { try codec { () throws(CodecError) in try inflater.finish() } }
    }

    private func codec<T>(_ body: () throws(CodecError) -> T) throws(StoreError) -> T {
        do throws(CodecError) {
            return try body()
        } catch {
            switch error {
            case .corrupt: throw StoreError(.corruptCompression, "A compressed frame is not one whole zlib stream.")
            case .tooLarge:
                throw StoreError(.frameTooLarge, "A compressed frame inflates to more than \(Limits.dataBody) bytes.")
            }
        }
    }
}
