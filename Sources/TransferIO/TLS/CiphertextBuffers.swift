/// Memory for ciphertext, shared by all connections of a loop: a connection has some only while there is something in it,
/// and on a busy loop that is mostly the same, still in the cache. Loop only.
package final class CiphertextBuffers {
    /// Bytes of plaintext in a record at most (RFC 8446, section 5.1).
    static let recordSize = 16 << 10

    /// Bytes that a record has beside them: a header of five, the type, and a tag of sixteen.
    private static let recordOverhead = 22

    /// Bytes of plaintext that are encrypted at once: as many as clients send at once. Much larger buffers measure slower,
    /// because they leave the cache.
    static let plaintextLimit = 17 * recordSize

    /// Room for that as records, for a key update and for the alert behind them.
    private static let size = 17 * (recordSize + recordOverhead) + 1024

    /// Buffers that are kept when nobody needs them.
    private static let spares = 4

    private var free: [UnsafeMutableRawBufferPointer] = []

    package init() {}

    deinit {
        for buffer in free { buffer.deallocate() }
    }

    func take() -> UnsafeMutableRawBufferPointer {
        free.popLast() ?? .allocate(byteCount: Self.size, alignment: 4096)
    }

    func giveBack(_ buffer: UnsafeMutableRawBufferPointer) {
        guard free.count < Self.spares else { return buffer.deallocate() }
        free.append(buffer)
    }
}
