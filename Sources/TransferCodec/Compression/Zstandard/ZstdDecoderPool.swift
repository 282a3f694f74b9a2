import TransferSystem

/// The decoders of a process. One is lent for a single frame that is there whole, so there are never more than threads that
/// decode, however many connections there are and whatever they send.
enum ZstdDecoderPool {
    /// Those that are kept when nobody needs them: some 9 MB at most, where frames hold 1 MiB.
    private static let mostIdle = 8

    private static let idle = Locked<[ZstdDecoder]>([])

    /// - Parameter capacity: bytes of the longest content.
    static func lend<T, E: Error>(capacity: Int, _ body: (ZstdDecoder) throws(E) -> T) throws(E) -> T {
        let decoder = take(capacity) ?? ZstdDecoder(capacity: capacity)
        defer { idle.withLock { if $0.count < mostIdle { $0.append(decoder) } } }
        return try body(decoder)
    }

    private static func take(_ capacity: Int) -> ZstdDecoder? {
        idle.withLock { idle in idle.lastIndex { $0.capacity >= capacity }.map { idle.remove(at: $0) } }
    }
}
