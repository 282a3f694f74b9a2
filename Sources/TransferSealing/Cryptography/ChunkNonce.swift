internal import TransferModel

/// The twelve bytes that make each chunk's encryption its own: eleven of a big-endian counter and one that is 1 for the last
/// chunk and 0 for all others (age, "Payload").
struct ChunkNonce: Equatable {
    let bytes: [UInt8]

    /// - Parameter chunk: counted from 0. Its highest bytes, the first three, are always zero.
    init(chunk: UInt64, isLast: Bool) {
        var bytes: [UInt8] = [0, 0, 0]
        bytes.append(bigEndian: chunk)
        bytes.append(isLast ? 1 : 0)
        self.bytes = bytes
    }

    /// Twelve zeros, as the file key is wrapped with: each wrapping has a key of its own.
    static let zero = ChunkNonce(chunk: 0, isLast: false)
}
