import TransferSystem

/// The decoders of a process. Each is lent for a single complete frame, so there are never more of them than threads
/// that decode, however many connections there are and whatever they send.
enum ZstdDecoderPool {
    /// Most idle decoders. They take at most some 9 MB, with frames of 1 MiB.
    private static let mostIdle = 8

    private static let idle = Locked<[ZstdDecoder]>([])

    /// - Parameter capacity: most bytes of content in a frame.
    static func lend<T, E: Error>(capacity: Int, _ body: (ZstdDecoder) throws(E) -> T) throws(E) -> T {
        let decoder = take(capacity) ?? ZstdDecoder(capacity: capacity)
        defer { idle.withLock { if $0.count < mostIdle { $0.append(decoder) } } }
        return try body(decoder)
    }

    private static func take(_ capacity: Int) -> ZstdDecoder? {
        idle.withLock { idle in idle.lastIndex { $0.capacity >= capacity }.map { idle.remove(at: $0) } }
    }
}
