import TransferModel

/// What a symbolic link was when it was sent.
struct SentLink: Equatable, Sendable {
    let target: [UInt8]
    let modified: Timestamp
}
