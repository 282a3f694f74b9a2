internal import TransferModel

/// The nonce of a chunk: eleven bytes of a big-endian counter and one that is 1 for the last chunk and 0 for all others
/// (age, "Payload").
struct ChunkNonce: Equatable {
    let bytes: [UInt8]

    /// - Parameter chunk: counted from 0. The highest three bytes of the nonce's counter are always zero.
    init(chunk: UInt64, isLast: Bool) {
        var bytes: [UInt8] = [0, 0, 0]
        bytes.append(bigEndian: chunk)
        bytes.append(isLast ? 1 : 0)
        self.bytes = bytes
    }

    /// Twelve zeros, with which the file key is wrapped; each wrapping has its own key.
    static let zero = ChunkNonce(chunk: 0, isLast: false)
}
