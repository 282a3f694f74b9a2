import TransferModel

/// A question about what the server has of an upload, and the state of the answer.
struct PartsQuery {
    let split: any UploadInParts

    /// Whether the server has reported everything that it has.
    var isAnswered = false

    /// The number of frames with blocks that are being compared.
    var comparing = 0

    /// The reason why the comparison with the source failed; nil if it did not fail.
    var failure: Failure?

    init(_ split: any UploadInParts) {
        self.split = split
    }

    var isConcluded: Bool { isAnswered && comparing == 0 }
}
