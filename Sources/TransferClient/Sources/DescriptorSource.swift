import Glibc
import TransferSystem

/// Reads from a file descriptor that belongs to the caller, such as standard input.
public struct DescriptorSource: ByteSource {
    private let number: Int32

    /// - Parameter number: a descriptor that is open for reading.
    public init(_ number: Int32) {
        self.number = number
    }

    /// Waits for bytes and returns those that are available.
    ///
    /// - Throws: the error of read(2).
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try system("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
    }
}
