import Glibc

/// Bytes that are zero and stay so, for whoever digests or writes what a hole stands for.
package enum ZeroBytes {
    /// How many there are.
    package static let count = 1 << 20

    /// Never written to. The kernel has one page for all of it, which stays in a processor's cache. Where there is no memory for
    /// that, it is made as any other.
    private nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
        guard let start = calloc(1, count) else {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            return UnsafeRawBufferPointer(bytes)
        }
        return UnsafeRawBufferPointer(start: start, count: count)
    }()

    /// - Parameter number: how many are wanted.
    /// - Returns: as many, or all that there are.
    package static func prefix(_ number: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[..<min(max(0, number), count)])
    }
}
