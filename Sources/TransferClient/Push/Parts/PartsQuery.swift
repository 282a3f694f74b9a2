import TransferModel

/// An upload that the server was asked about, and how far its answer was dealt with.
struct PartsQuery {
    let split: any UploadInParts

    /// Everything that the server has was told.
    var isAnswered = false

    /// Frames of blocks that are being compared.
    var comparing = 0

    /// Why the source could not be compared.
    var failure: Failure?

    init(_ split: any UploadInParts) {
        self.split = split
    }

    var isConcluded: Bool { isAnswered && comparing == 0 }
}
