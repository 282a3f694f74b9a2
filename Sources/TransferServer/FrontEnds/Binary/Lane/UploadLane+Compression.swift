import TransferCodec
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

/// What comes compressed.
extension UploadLane {
    /// - Throws: `corruptCompression`, `frameTooLarge`, or what the upload throws.
    func expand(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer, _ format: CompressionFormat, into upload: OpenUpload
    ) throws(StoreError) {
        let place = FrameExpansion.Place(isFirst: piece.isFirst, isLast: piece.isLast)
        try expansion.expand(bytes, place, format, fault: StoreError.init(_:)) { (content) throws(StoreError) in
            try upload.append(content)
        }
    }
}

extension StoreError {
    fileprivate init(_ error: CodecError) {
        switch error {
        case .corrupt:
            self.init(.corruptCompression, "A compressed frame is not one whole zlib stream or zstd frame.")
        case .tooLarge:
            self.init(.frameTooLarge, "A compressed frame holds more than \(Limits.dataBody) bytes.")
        }
    }
}
