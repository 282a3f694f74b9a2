public import TransferModel

extension ContentKind {
    /// Bytes from the front of the content that recognition looks at.
    package static let sampleSize = ContentFormat.sampleSize

    /// Recognises content by its first bytes; `file` when it is nothing else.
    ///
    /// - Parameters:
    ///   - sample: the first bytes, up to 4 KiB of them.
    ///   - isWhole: whether the sample is all there is; otherwise its last character may be cut.
    public init(recognising sample: UnsafeRawBufferPointer, isWhole: Bool) {
        self = ContentFormat(recognising: sample, isWhole: isWhole).kind
    }
}
