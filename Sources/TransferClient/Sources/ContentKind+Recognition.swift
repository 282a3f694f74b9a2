public import TransferModel

extension ContentKind {
    /// Bytes at the beginning of the content that recognition needs.
    package static let sampleSize = ContentFormat.sampleSize

    /// Recognises content by its first bytes; `file` if it is of no other kind.
    ///
    /// - Parameters:
    ///   - sample: the first bytes of the content, up to 4 KiB.
    ///   - isWhole: whether the sample is the whole content; otherwise its last character may be incomplete.
    public init(recognising sample: UnsafeRawBufferPointer, isWhole: Bool) {
        self = ContentFormat(recognising: sample, isWhole: isWhole).kind
    }
}
