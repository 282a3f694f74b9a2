import Glibc

/// Owns a file descriptor and closes it once. A failed close is never retried: on Linux the descriptor is closed even
/// after EINTR (close(2)), and its number may already belong to another file.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes ownership of a descriptor.
    package init(_ number: Int32) {
        self.number = number
    }

    /// Gives up ownership without closing the descriptor.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    deinit {
        close(number)
    }
}

/// Writes all bytes (write(2)), in as many calls as necessary.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to number: Int32) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = try system("write") { write(number, rest.baseAddress, rest.count) }
        // No file system should report zero written bytes. If one does, this loop must not run for ever.
        guard count > 0 else { throw SystemError(errno: EIO, call: "write") }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
}

package func writeAll(_ bytes: [UInt8], to number: Int32) throws(SystemError) {
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in try writeAll(bytes, to: number) }
}
