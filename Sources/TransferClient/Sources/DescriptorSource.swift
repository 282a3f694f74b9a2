import Glibc
import TransferSystem

/// Reads from a file descriptor that stays the caller's, such as standard input.
public struct DescriptorSource: ByteSource {
    private let number: Int32

    /// - Parameter number: open for reading.
    public init(_ number: Int32) {
        self.number = number
    }

    /// Waits for bytes and returns what there is.
    ///
    /// - Throws: what read(2) says.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try system("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
    }
}
