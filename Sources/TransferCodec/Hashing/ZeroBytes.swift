import Glibc

/// Constant zero bytes for digesting or writing the content of a hole.
package enum ZeroBytes {
    /// The number of zero bytes available.
    package static let count = 1 << 20

    /// The bytes are never written. The kernel maps one page of zeros for all of them, which stays in the processor's
    /// cache. If calloc(3) fails, memory is allocated in the usual way.
    private nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
        guard let start = calloc(1, count) else {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            return UnsafeRawBufferPointer(bytes)
        }
        return UnsafeRawBufferPointer(start: start, count: count)
    }()

    /// - Parameter number: number of bytes wanted.
    /// - Returns: this many zero bytes; fewer if `number` is larger than `count`.
    package static func prefix(_ number: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[..<min(max(0, number), count)])
    }
}
