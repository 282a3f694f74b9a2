import Glibc

/// Owns a file descriptor and closes it once. A close is never retried: on Linux the descriptor is closed even after
/// EINTR (close(2)), and its number may belong to another file by then.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes ownership of a descriptor.
    package init(_ number: Int32) {
        self.number = number
    }

    /// Gives ownership away without closing.
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
        // No file system should accept zero bytes; if one does, this must not loop for ever.
        guard count > 0 else { throw SystemError(errno: EIO, call: "write") }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
}

package func writeAll(_ bytes: [UInt8], to number: Int32) throws(SystemError) {
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in try writeAll(bytes, to: number) }
}
