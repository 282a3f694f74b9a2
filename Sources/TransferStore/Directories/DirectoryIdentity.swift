package import CLinux
import Glibc
import TransferCodec
import TransferModel
import TransferSystem

/// Tells a directory of this machine from all others, as long as the machine runs: for a client that may have the directory of its
/// server before it. docs/reference/protocol.md says what it is made of.
package enum DirectoryIdentity {
    /// - Parameter descriptor: of the directory.
    /// - Returns: 16 bytes, an XXH128 digest; nil where the directory or the kernel's boot id cannot be read.
    package static func of(_ descriptor: Int32) -> [UInt8]? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? of(status) : nil
    }

    /// - Parameter status: of the directory.
    package static func of(_ status: stat) -> [UInt8]? {
        let boot = BootID.current
        guard boot != BootID.unknown else { return nil }
        let digester = ContentDigester(.xxh128)
        Array("\(boot) \(status.st_dev) \(status.st_ino)".utf8).withUnsafeBytes { digester.update($0) { _, _ in } }
        return Array(digester.finish().digest.bytes)
    }
}
