/// Memory for ciphertext, shared by all connections of a loop. A connection holds a buffer only while the buffer
/// contains bytes, so that a busy loop mostly reuses one that is still in the processor's cache. Loop only.
package final class CiphertextBuffers {
    /// Most bytes of plaintext in a record (RFC 8446, section 5.1).
    static let recordSize = 16 << 10

    /// Further bytes of a record: a header of five, the type, and a tag of sixteen.
    private static let recordOverhead = 22

    /// Most bytes of plaintext that are encrypted at once: as many as clients send at once. Much larger buffers were
    /// slower, because they leave the cache.
    static let plaintextLimit = 17 * recordSize

    /// Bytes of a buffer: enough for that much plaintext in records, and for a key update and an alert.
    private static let size = 17 * (recordSize + recordOverhead) + 1024

    /// Most unused buffers that are kept.
    private let spares: Int

    private var free: [UnsafeMutableRawBufferPointer] = []

    /// - Parameter spares: most unused buffers that are kept, by default as many as a loop with several connections
    ///   needs.
    package init(spares: Int = 4) {
        self.spares = spares
    }

    deinit {
        for buffer in free { buffer.deallocate() }
    }

    func take() -> UnsafeMutableRawBufferPointer {
        free.popLast() ?? .allocate(byteCount: Self.size, alignment: 4096)
    }

    func giveBack(_ buffer: UnsafeMutableRawBufferPointer) {
        guard free.count < spares else { return buffer.deallocate() }
        free.append(buffer)
    }
}
